#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What `tandem trace-comm` costs the program that it traces: all-reduces with and without it, in pairs of short runs.
#
#   python3 benchmarks/host/trace/overhead.py [--pairs P] [--elements N] [--samples S] [--events] [--cases NAME...]
#
# A pair is a run of `tandem allreduce-bench` of two ranks alone and one traced, in random order. Compared is the time of an
# undisturbed call as the program reports it: the 10th percentile of its samples, which other programs change least. Prints a JSON
# line per case: the ratio of traced to alone minus one, as the median over the pairs with its 95 % interval, and the same for
# runs alone beside each other (`null_percent`): what the method shows where there is nothing. What tracing costs once, at the
# begin and the end of a run, is no part of a call (RESULTS.md).
# The case nccl has no GPU: it calls the profiler plugin as NCCL does, and prints nanoseconds per collective.
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from paired import interval  # noqa: E402

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# By name: what is traced, the transport, and what starts the ranks.
CASES = {"transport": ("transport", ["--transport", "inproc", "--world", "2"], []),
         "gloo": ("all", ["--transport", "gloo", "--world", "2"], []),
         "mpi": ("mpi", ["--transport", "mpi"], ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"])}


def undisturbed_s(command):
    process = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    return next(line["p10"] for line in lines if "p10" in line)


def show_case(case, options, folder):
    kind, transport, launcher = CASES[case]
    alone = [*launcher, options.tandem, "allreduce-bench", *transport, "--schemes", options.scheme, "--elements", str(options.elements),
             "--samples", str(options.samples), "--json"]
    traced = [options.tandem, "trace-comm", "--kind", kind, *(["--events"] if options.events else []), "--out", f"{folder}/run", "--", *alone]
    pairs = []
    for _ in range(options.pairs):
        both = [("alone", alone), ("traced", traced)]
        random.shuffle(both)
        found = {name: undisturbed_s(command) for name, command in both}
        pairs.append((found["alone"], found["traced"]))
    nulls = [after[0] / before[0] - 1 for before, after in zip(pairs[0::2], pairs[1::2])]
    return {"pairs": len(pairs), "time_percent": interval([traced / alone - 1 for alone, traced in pairs]),
            "null_percent": interval(nulls), "call_us": round(1e6 * statistics.median(alone for alone, _ in pairs), 1)}


def show_plugin(options, folder):
    """Whoever has collectives of 50 times as long pays 2 %."""
    fake = Path(options.tandem).parent / "fake_nccl"
    traced = [options.tandem, "trace-comm", "--kind", "nccl", *(["--events"] if options.events else []), "--out", f"{folder}/run", "--",
              fake, "5", "2", "calls"]
    found = [float(subprocess.run(traced, capture_output=True, text=True, check=True).stdout.split()[0]) for _ in range(31)]
    middle = statistics.median(found)
    return {"runs": len(found), "ns_per_collective": round(middle, 1), "least": min(found), "most": max(found),
            "two_percent_of_us": round(middle * 50 / 1000, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--elements", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--scheme", default="dense_ring")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--cases", nargs="+", choices=[*CASES, "nccl"], default=[*CASES, "nccl"])
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    options = parser.parse_args()
    for case in options.cases:
        if case in CASES and CASES[case][2] and not shutil.which("mpirun"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            figures = show_plugin(options, folder) if case == "nccl" else show_case(case, options, folder)
        print(json.dumps({"case": case, **figures, "load": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    main()
