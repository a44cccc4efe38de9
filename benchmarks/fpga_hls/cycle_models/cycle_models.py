#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cycles that drivers expect of our kernels beside those of the time model (drivers/emulation/TIME.md).

    source <build>/xrt/setup.sh && python3 benchmarks/fpga_hls/cycle_models/cycle_models.py [FOLDER [KERNEL]]

One JSON line per run of one unit: both counts, their ratio, what the time model says limits it, and the loops that take longest.
by_hand: from the kernel's abi.h; 0 for attention, which has no model of its own. FOLDER keeps the bitstreams. KERNEL: aggregation,
attention, embedding or product; else all.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KERNELS = {"aggregation": "sparse_aggregation", "embedding": "embedding_update", "attention": "attention_decode",
           "product": "sparse_product"}
CASES = ("attention 1 256 128", "attention 2 256 128", "attention 4 256 128", "attention 8 256 128", "attention 16 256 128",
         "embedding 0 1000 64 1", "embedding 0 200 64 4", "embedding 1 1000 64 1", "embedding 2 1000 64 1", "embedding 2 100 64 1",
         "product 20000 20000 13", "product 4000 60000 40", "product 30000 200000 5",
         "aggregation 8 4000 262144 18", "aggregation 2 60000 262144 18",
         "aggregation 3 20000 2000000 18")


def build(folder, wanted):
    tree = os.environ["XILINX_XRT"]
    host = os.path.join(folder, "host")
    headers = [f"-I{ROOT}", f"-I{ROOT}/fpga_hls", f"-I{ROOT}/fpga_hls/include", f"-I{ROOT}/host", f"-I{ROOT}/tests", f"-I{ROOT}/drivers"]
    subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-o", host, os.path.join(HERE, "host.cpp"), *headers, f"-I{tree}/include",
                    f"-L{tree}/lib", "-lxrt_coreutil", "-luuid", "-pthread"], check=True)
    environment = dict(os.environ, TANDEM_KERNEL_CHECKS="off")
    for kernel in (KERNELS[name] for name in wanted):
        bitstream = os.path.join(folder, kernel + ".xclbin")
        if os.path.exists(bitstream):
            continue
        common = ["-t", "hw_emu", "--platform", "u55c"]
        subprocess.run(["v++", "-c", *common, "-k", kernel, "-O1", "-o", bitstream + ".xo",
                        f"{ROOT}/fpga_hls/{kernel}/{kernel}.cpp"], cwd=folder, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["v++", "-l", *common, "--config", f"{ROOT}/bitstreams/recipes/{kernel}/{kernel}.cfg", "-o", bitstream,
                        bitstream + ".xo"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return host


def compare(host, folder, case):
    words = case.split()
    report = os.path.join(folder, "report.jsonl")
    if os.path.exists(report):
        os.remove(report)
    environment = dict(os.environ, XCL_EMULATION_MODE="hw_emu", TANDEM_TIME="model", TANDEM_CARD_REPORT=report)
    command = [host, os.path.join(folder, KERNELS[words[0]] + ".xclbin"), *words]
    by_hand = float(subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    with open(report) as lines:
        (run,) = [line for line in map(json.loads, lines) if line["kind"] == "run_time"]
    longest = sorted(run["loops"], key=lambda loop: -loop["cycles"])[:6]
    return {"name": "cycle_model." + words[0], "case": case, "by_hand": by_hand, "modelled": run["cycles"],
            "ratio": round(run["cycles"] / by_hand, 3) if by_hand else None, "limit": run["limit"], "why": run["why"], "unknown": run["unknown"],
            "loops": [{key: loop[key] for key in ("line", "entries", "trips", "ii", "depth", "cycles", "why")} for loop in longest],
            "processes": run["processes"][:8]}


def measure(folder, wanted):
    host = build(folder, wanted)
    for case in CASES:
        if case.split()[0] in wanted:
            print(json.dumps(compare(host, folder, case)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.makedirs(sys.argv[1], exist_ok=True)
        measure(os.path.abspath(sys.argv[1]), sys.argv[2:] or list(KERNELS))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            measure(scratch, list(KERNELS))
