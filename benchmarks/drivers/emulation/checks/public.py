#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The time of public kernels with the default checks over that without, and what the checks find.

    source <build>/xrt/setup.sh && python3 benchmarks/drivers/emulation/checks/public.py FOLDER [EXAMPLE ...]

FOLDER is a clone of Xilinx/Vitis_Accel_Examples; EXAMPLE a folder in it, by default those of EXAMPLES. Each is built and run by its own
Makefile (hw_emu), then run in turns with and without checks. Prints a JSON line per kernel (shortest processor time of a launch), the
findings, and a last line with the median of the ratios. Most examples launch a kernel once, so first uses of memory are in the times.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

PLATFORM = "xilinx_u200_gen3x16_xdma_2_202110_1"
TURNS = 3
EXAMPLES = """cpp_kernels/array_partition cpp_kernels/burst_rw cpp_kernels/custom_datatype cpp_kernels/dataflow_stream
cpp_kernels/gmem_2banks cpp_kernels/lmem_2rw cpp_kernels/loop_reorder cpp_kernels/partition_cyclicblock cpp_kernels/shift_register
cpp_kernels/simple_vadd cpp_kernels/systolic_array cpp_kernels/wide_mem_rw host_xrt/mult_compute_units_xrt
host_xrt/streaming_k2k_mm_xrt ocl_kernels/cl_burst_rw ocl_kernels/cl_systolic_array""".split()


def make_run(example, scratch, checks):
    """Builds if needed and runs; True if the program ended with 0."""
    variables = dict(os.environ, TANDEM_CARD_STATISTICS=os.path.join(scratch, "times-" + checks), TANDEM_KERNEL_TIME="off")
    if checks == "none":
        variables["TANDEM_CHECKS"] = "none"
    else:
        variables["TANDEM_CARD_REPORT"] = os.path.join(scratch, "report")
    return subprocess.run(["make", "run", "TARGET=hw_emu", "PLATFORM=" + PLATFORM], cwd=example, env=variables,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def shortest(path):
    """Microseconds of the processor for a launch, by kernel."""
    times = {}
    for line in lines_of(path):
        for unit in line["units"]:
            if unit["launches"]:
                times.setdefault(unit["kernel"], []).append(unit["processor_ns"] / unit["launches"] / 1000)
    return {kernel: min(each) for kernel, each in times.items()}


def measure(folder, name):
    """Ratios of the example's kernels."""
    example = os.path.join(folder, name)
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        if not all(make_run(example, scratch, checks) for _ in range(TURNS) for checks in ("default", "none")):
            print(json.dumps({"name": "card_checks.public", "example": name, "failed": True}), flush=True)
            return ratios
        plain, checked = shortest(os.path.join(scratch, "times-none")), shortest(os.path.join(scratch, "times-default"))
        findings = [line["kind"] for line in lines_of(os.path.join(scratch, "report")) if line.get("severity")]
    for kernel in plain:
        ratios.append(checked[kernel] / plain[kernel])
        print(json.dumps({"name": "card_checks.public", "example": name, "kernel": kernel, "plain_us": round(plain[kernel], 1),
                          "checked_us": round(checked[kernel], 1), "ratio": round(ratios[-1], 2), "findings": findings}), flush=True)
    return ratios


def main():
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or EXAMPLES
    ratios = [ratio for name in names for ratio in measure(folder, name)]
    print(json.dumps({"name": "card_checks.public_ratio", "median": round(statistics.median(ratios), 2), "kernels": len(ratios)}))


if __name__ == "__main__":
    main()
