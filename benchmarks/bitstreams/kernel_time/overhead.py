#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What the time model costs: each kernel of the test `card_time` with default checks (a report), with
# TANDEM_TIME=model, and with neither, in turns.
#
# One JSON line per kernel: medians of seconds, their ratios, stream accesses per minute, and how long
# after the kernel's end the application's wait ended, by when the report holds the run's line.
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
STREAM_ACCESSES = {"chain": 4, "deep": 6}  # per element


def run_shell(command, folder, tree):
    subprocess.run(["bash", "-c", f"source {tree}/setup.sh && {command}"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def build(folder, tree, kernels):
    sources = ROOT / "tests/fpga/tools/card_time/timed.cpp"
    for kernel in kernels:
        run_shell(f"v++ -c -t hw_emu --platform u250 -k {kernel} -o {kernel}.xo {sources}", folder, tree)
    objects = " ".join(f"{kernel}.xo" for kernel in kernels)
    run_shell(f"v++ -l -t hw_emu --platform u250 -o timed.xclbin {objects}", folder, tree)
    host = pathlib.Path(__file__).with_name("overhead_host.cpp")
    run_shell(f"g++ -std=c++17 -O1 -o host {host} -I$XILINX_XRT/include -L$XILINX_XRT/lib -lxrt_coreutil "
              "-luuid -pthread", folder, tree)


def run_once(folder, tree, kernel, count, mode):
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TANDEM_")}
    if mode != "plain":
        environment["TANDEM_CARD_REPORT"] = str(report)
    if mode == "model":
        environment["TANDEM_TIME"] = "model"
    told = subprocess.run(["bash", "-c", f"source {tree}/setup.sh && ./host timed.xclbin {kernel} {count}"],
                          cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    seconds, ended = told.split()
    if mode != "model":
        return float(seconds), 0
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    (run,) = [line for line in lines if line["kind"] == "run_time"]
    return float(seconds), (int(ended) - run["ended_ns"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--count", type=int, default=1 << 20, help="elements")
    parser.add_argument("--kernels", default="apart,sum,chain,deep")
    arguments = parser.parse_args()
    tree = pathlib.Path(arguments.build).resolve() / "xrt"
    kernels = arguments.kernels.split(",")
    with tempfile.TemporaryDirectory(prefix="tandem-overhead.") as name:
        folder = pathlib.Path(name)
        build(folder, tree, kernels)
        for kernel in kernels:
            seconds = {"plain": [], "checks": [], "model": []}
            late = []
            for _ in range(arguments.samples):
                for mode, taken in seconds.items():
                    value, after = run_once(folder, tree, kernel, arguments.count, mode)
                    taken.append(value)
                    if mode == "model":
                        late.append(after)
            middle = {mode: statistics.median(taken) for mode, taken in seconds.items()}
            line = {"name": f"kernel_time.overhead.{kernel}", **middle,
                    "model_over_checks": round(middle["model"] / middle["checks"], 3),
                    "checks_over_plain": round(middle["checks"] / middle["plain"], 3),
                    "report_after_s": round(statistics.median(late), 4), "samples": arguments.samples}
            if kernel in STREAM_ACCESSES:
                accesses = STREAM_ACCESSES[kernel] * arguments.count
                line["million_accesses_per_minute"] = round(accesses / middle["model"] * 60 / 1e6, 1)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
