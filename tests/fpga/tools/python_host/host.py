# SPDX-License-Identifier: Apache-2.0
"""A host program of XRT's Python module, in the shape of the public ones. Prints TEST PASSED."""
import re
import sys

import pyxrt

TO_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
DONE = pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED
COUNT = 256


def refused(kind, words, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"not refused: {words}")


def bytes_and_memoryviews(device, uuid):
    """Byte access to the mapped buffer, as in the hello-world programs."""
    kernel = pyxrt.kernel(device, uuid, "bump", pyxrt.kernel.shared)
    size = COUNT * 4
    handle = pyxrt.bo(device, size, pyxrt.bo.normal, kernel.group_id(0))
    handle.write(bytearray(size), 0)
    view = handle.map()
    assert isinstance(view, memoryview) and len(view) == size and view.format == "B"
    for i in range(COUNT):
        view[4 * i] = i % 200
    handle.sync(TO_DEVICE, size, 0)
    run = kernel(handle, COUNT)
    assert run.wait() == DONE and run.state() == DONE
    handle.sync(FROM_DEVICE, size, 0)
    assert [view[4 * i] for i in range(COUNT)] == [i % 200 + 1 for i in range(COUNT)]
    assert [int(value) for value in handle.read(8, 4)] == [2, 0, 0, 0, 3, 0, 0, 0]

    part = pyxrt.bo(handle, 4096 if size > 4096 else size, 0)
    assert part.size() == min(size, 4096) and part.address() == handle.address()
    again = pyxrt.run(kernel)
    again.set_arg(0, handle)
    again.set_arg(1, COUNT)
    again.start()
    assert again.wait(10000) == DONE
    handle.sync(FROM_DEVICE)
    assert view[0] == 2
    del handle, part, run, again
    assert view[4] == 3, "the view has lost its buffer"

    on_card = pyxrt.bo(device, 4096, pyxrt.bo.device_only, kernel.group_id(0))
    refused(RuntimeError, "", on_card.map)
    refused(BufferError, "this buffer has no host copy to view", memoryview, on_card)

    refused(TypeError, "'values' is a pointer", kernel, 7, COUNT)
    handle = pyxrt.bo(device, size, pyxrt.bo.normal, kernel.group_id(0))
    view = memoryview(handle)
    assert view.format == "B" and not view.readonly and view.nbytes == size
    refused(IndexError, "the kernel has 2 arguments", kernel, handle, 1, 2)
    refused(RuntimeError, "", pyxrt.kernel, device, uuid, "none")


def scalars(device, uuid):
    import struct
    kernel = pyxrt.kernel(device, uuid, "scale")
    size = (COUNT + 3) * 4
    source = pyxrt.bo(device, size, pyxrt.bo.flags.normal, kernel.group_id(0))
    result = pyxrt.bo(device, size, pyxrt.bo.flags.normal, kernel.group_id(1))
    source.write(struct.pack(f"{COUNT}f", *range(COUNT)), 0)
    source.sync(TO_DEVICE)
    wide = 7 << 64
    words = wide.to_bytes(16, "little")  # an ap_uint<96> in memory
    for last in (wide, words):
        run = kernel(source, result, COUNT, 2.5, 1, 255, -5000000000, last)
        assert run.wait() == DONE
        result.sync(FROM_DEVICE)
        values = memoryview(result).cast("f")
        assert list(values[:COUNT]) == [i * 2.5 + 1 for i in range(COUNT)]
        assert list(values[COUNT:]) == [255, 1, 7]
    refused(ValueError, "'flag' has 4 bytes; 4294967296 does not fit", kernel, source, result, COUNT, 2.5, 1, 1 << 32)
    refused(ValueError, "'flag' has 4 bytes; -2147483649 does not fit", kernel, source, result, COUNT, 2.5, 1, -(1 << 31) - 1)
    refused(TypeError, "'size' is of type int; a Python float", kernel, source, result, 1.5)
    refused(TypeError, "'factor' is of type float; a Python str", kernel, source, result, COUNT, "2.5")
    refused(ValueError, "'words' has 16 bytes, not 3", kernel, source, result, COUNT, 1, 1, 1, 1, b"abc")
    refused(ValueError, "contiguous", source.write, memoryview(b"abcdef")[::2], 0)


def main(path):
    assert pyxrt.enumerate_devices() == 1
    device = pyxrt.device(0)
    xclbin = pyxrt.xclbin(path)
    refused(RuntimeError, "none.xclbin", pyxrt.xclbin, "none.xclbin")
    uuid = device.load_xclbin(xclbin)
    assert uuid == device.get_xclbin_uuid() == xclbin.get_uuid()
    assert re.fullmatch(r"[0-9a-f-]{36}", uuid.to_string()), uuid
    kernels = {kernel.get_name(): kernel.get_num_args() for kernel in xclbin.get_kernels()}
    assert kernels == {"scale": 8, "bump": 2}, kernels
    assert any(bank.get_tag().startswith("HBM") and bank.get_used() for bank in xclbin.get_mems())
    assert "u55c" in device.get_info(pyxrt.xrt_info_device.name)
    assert device.get_info(pyxrt.xrt_info_device.nodma) == "0"
    pyxrt.log_message(pyxrt.xrt_msg_level.info, "test", "a message")
    bytes_and_memoryviews(device, uuid)
    scalars(device, uuid)
    print("TEST PASSED")


main(sys.argv[1])
