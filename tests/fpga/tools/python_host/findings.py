# SPDX-License-Identifier: Apache-2.0
"""Mistakes of a program in Python, and what is right, by the lines of the report. Prints TEST PASSED."""
import json
import os
import sys

import numpy
import pyxrt

TO_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
COUNT = 256
REPORT = os.environ["TANDEM_CARD_REPORT"]


def findings():
    """The kinds and arguments that were told since the last call."""
    if not os.path.exists(REPORT):
        return []
    with open(REPORT, encoding="utf-8") as lines:
        told = [json.loads(line) for line in lines]
    os.remove(REPORT)
    return [(finding["kind"], finding["argument"]) for finding in told]


def filled(device, kernel):
    buffer = pyxrt.bo(device, COUNT * 4, pyxrt.bo.normal, kernel.group_id(0))
    buffer.write(numpy.zeros(COUNT, dtype=numpy.int32), 0)
    buffer.sync(TO_DEVICE)
    return buffer


def main(path):
    device = pyxrt.device(0)
    uuid = device.load_xclbin(pyxrt.xclbin(path))
    kernel = pyxrt.kernel(device, uuid, "bump")

    buffer = filled(device, kernel)
    kernel(buffer, COUNT).wait()
    buffer.sync(FROM_DEVICE)
    assert list(buffer.read(COUNT * 4, 0).view(numpy.int32)) == [1] * COUNT
    view = numpy.frombuffer(buffer.map(), dtype=numpy.int32)
    kernel(buffer, COUNT).wait()
    buffer.sync(FROM_DEVICE)
    assert view[7] == 2
    assert findings() == []

    kernel(buffer, COUNT).wait()
    assert view[7] in (2, 3)
    buffer.sync(FROM_DEVICE)
    assert findings() == [("missing_sync_from_device", "values")]

    kernel(buffer, COUNT).wait()
    buffer.read(COUNT * 4, 0)
    buffer.sync(FROM_DEVICE)
    assert findings() == [("missing_sync_from_device", "values")]

    del view
    told = []
    for _ in range(20):  # in memory that earlier buffers had
        unwritten = pyxrt.bo(device, COUNT * 4, pyxrt.bo.normal, kernel.group_id(0))
        kernel(unwritten, COUNT).wait()
        unwritten.sync(FROM_DEVICE)
        told += findings()
    assert set(told) == {("uninitialised_memory", "values")}
    buffer.write(numpy.ones(COUNT, dtype=numpy.int32), 0)
    kernel(buffer, COUNT).wait()
    assert findings() == [("missing_sync_to_device", "values")]

    units = [pyxrt.kernel(device, uuid, f"bump:{{bump_{number}}}") for number in (1, 2)]
    buffer.sync(TO_DEVICE)
    for unit in units:
        unit(buffer, COUNT).wait()
    assert findings() == []
    runs = [unit(buffer, COUNT) for unit in units]
    for run in reversed(runs):
        run.wait()
    assert findings() == [("race", "values")]

    for wrong, argument in ((1.5, "size"), (buffer, "size")):
        try:
            kernel(buffer, wrong)
            raise AssertionError(f"{wrong} is not refused")
        except (TypeError, RuntimeError, ValueError):
            assert findings() == [("bad_argument", argument)]
    print("TEST PASSED")


main(sys.argv[1])
