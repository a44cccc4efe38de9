#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# How long `tandem trace-comm --import` takes for a dense matrix: all files, drawings among them, of ranks that all send to all.
#
#   python3 benchmarks/host/trace/matrices.py [--ranks N] [--rounds R] [--tandem PROGRAM]
#
# Prints one JSON line: processor seconds (which other programs change little) and seconds of the wall clock, both the median.
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def write_record(path, ranks):
    with open(path, "w") as file:
        file.write(f"tandem-communication 1\nrank 0 of {ranks} on node\nmodel direct\n")
        for source in range(ranks):
            file.writelines(f"cell {source} {to} mpi_collective alltoall 0 0 {1 + source * to} 1\n" for to in range(ranks) if to != source)
        file.write("end\n")


def measured(command):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "all.record"
        write_record(record, options.ranks)
        command = [options.tandem, "trace-comm", "--import", str(record), "--out", f"{folder}/run"]
        times = [measured(command) for _ in range(options.rounds)]
        sizes = {path.name: path.stat().st_size for path in Path(folder).glob("run.*")}
    print(json.dumps({"ranks": options.ranks, "cpu_s": round(statistics.median(each[0] for each in times), 2),
                      "wall_s": round(statistics.median(each[1] for each in times), 2), "load": os.getloadavg()[0], "bytes": sizes}))


if __name__ == "__main__":
    main()
