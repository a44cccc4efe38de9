#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What `tandem trace-comm` costs the program that it traces: all-reduces with and without it, in turns.
#
#   python3 benchmarks/host/trace/overhead.py [--rounds R] [--elements N] [--samples S] [--events] [--tandem PROGRAM]
#
# Each round runs `tandem allreduce-bench` of two ranks once alone and once traced, in random order. Prints one JSON line per
# transport: the ratio of traced to alone minus one, for the median time of a call as the program reports it, and for the processor
# seconds of the program, which other programs change less; over all rounds, with the machine's load. Ranks of MPI wait by polling,
# so their processor seconds are waits. trace-comm itself, which reads the records and draws, takes 0.02 s of each traced run, so the
# runs must be longer than a second.
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# By name: what is traced, the transport, and what starts the ranks.
CASES = {"transport": ("transport", ["--transport", "inproc", "--world", "2"], []),
         "gloo": ("all", ["--transport", "gloo", "--world", "2"], []),
         "mpi": ("mpi", ["--transport", "mpi"], ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"])}


def measured(command):
    """The program's median time of a call, and the processor seconds of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    return (next(line["median"] for line in lines if "median" in line),
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def ratios_of(case, options, folder):
    kind, transport, launcher = CASES[case]
    alone = [*launcher, options.tandem, "allreduce-bench", *transport, "--schemes", options.scheme, "--elements", str(options.elements),
             "--samples", str(options.samples), "--json"]
    traced = [options.tandem, "trace-comm", "--kind", kind, *(["--events"] if options.events else []), "--out", f"{folder}/run", "--", *alone]
    pairs = []
    for _ in range(options.rounds):
        both = [("alone", alone), ("traced", traced)]
        random.shuffle(both)
        found = {name: measured(command) for name, command in both}
        pairs.append([after / before for after, before in zip(found["traced"], found["alone"])])
    return [sorted(column) for column in zip(*pairs)]


def percent(ratio):
    return round(100 * (ratio - 1), 2)


def spread(ratios):
    return {"median": percent(statistics.median(ratios)), "least": percent(ratios[0]), "most": percent(ratios[-1])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--elements", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--scheme", default="dense_ring")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    options = parser.parse_args()
    for case in options.cases:
        if CASES[case][2] and not shutil.which("mpirun"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            times, processor = ratios_of(case, options, folder)
        print(json.dumps({"case": case, "rounds": options.rounds, "time_percent": spread(times),
                          "processor_percent": spread(processor), "load": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    main()
