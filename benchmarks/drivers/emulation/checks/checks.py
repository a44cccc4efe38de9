#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The time of ten kernels with the checks of memory over that without, in turns.

    source <build>/xrt/setup.sh && python3 benchmarks/drivers/emulation/checks/checks.py [FOLDER]

Prints a JSON line per kernel, then one with the median of the ratios. FOLDER keeps the bitstreams.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = "add sum copy_blocks scale_blocks multiply histogram filter stencil narrow exchange".split()
COUNT, RUNS, TURNS = 65536, 10, 3


def build(folder):
    root = os.environ["XILINX_XRT"]
    host = os.path.join(folder, "host")
    subprocess.run(["g++", "-std=c++17", "-O2", "-o", host, os.path.join(HERE, "host.cpp"), f"-I{root}/include",
                    f"-L{root}/lib", "-lxrt_coreutil", "-luuid", "-pthread"], check=True)
    for kernel in KERNELS:
        bitstream = os.path.join(folder, kernel + ".xclbin")
        if os.path.exists(bitstream):
            continue
        common = ["-t", "hw_emu", "--platform", "u250"]
        # v++ leaves its logs where it is started.
        subprocess.run(["v++", "-c", *common, "-k", kernel, "-o", bitstream + ".xo", os.path.join(HERE, "kernels.cpp")],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["v++", "-l", *common, "-o", bitstream, bitstream + ".xo"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    return host


def run(host, folder, kernel, checks):
    environment = dict(os.environ, XCL_EMULATION_MODE="hw_emu", TANDEM_CHECKS=checks)
    command = [host, os.path.join(folder, kernel + ".xclbin"), kernel, str(COUNT), str(RUNS)]
    return float(subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)


def measure(folder):
    host = build(folder)
    ratios = []
    for kernel in KERNELS:
        plain, checked = [], []
        for _ in range(TURNS):
            plain.append(run(host, folder, kernel, "none"))
            checked.append(run(host, folder, kernel, "none,memory,race,sync"))
        ratio = statistics.median(checked) / statistics.median(plain)
        ratios.append(ratio)
        print(json.dumps({"name": f"card_checks.{kernel}", "plain_us": statistics.median(plain),
                          "checked_us": statistics.median(checked), "ratio": round(ratio, 2)}), flush=True)
    print(json.dumps({"name": "card_checks.ratio", "median": round(statistics.median(ratios), 2),
                      "least": round(min(ratios), 2), "most": round(max(ratios), 2), "kernels": len(ratios)}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.makedirs(sys.argv[1], exist_ok=True)
        measure(os.path.abspath(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            measure(scratch)
