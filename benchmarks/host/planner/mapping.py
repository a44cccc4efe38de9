#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem map` on instances of QAPLIB: how far it ends from the best known values. Instances are not part of Tandem: FOLDER has
# NAME.dat, and NAME.sln, whose first line is the size and the best known value. An instance that misses --goal after --first
# seconds is tried again with --seconds.
import argparse
import json
import pathlib
import subprocess
import time


def main():
    parser = argparse.ArgumentParser(description="tandem map beside the best known values of QAPLIB")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--first", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--goal", type=float, default=0, help="most percent above the best known value")
    parser.add_argument("--largest", type=int, default=30)
    parser.add_argument("--names", nargs="+", help="only these")
    parser.add_argument("--method", default="direct", choices=("direct", "qubo"))
    options = parser.parse_args()

    def gap_of(path, best, seconds):
        text = subprocess.run([options.tandem, "map", "--qaplib", path, "--seconds", str(seconds), "--seed", "1", "--method",
                               options.method, "--json"],
                              capture_output=True, text=True, check=True).stdout
        cost = json.loads(text)["cost"]
        return cost, 100 * (cost - best) / best if best else 100 * cost

    num_reached = num_all = 0
    worst = 0
    for path in sorted(options.folder.glob("*.dat")):
        size, best = (int(word) for word in path.with_suffix(".sln").read_text().split()[:2])
        if path.stem not in options.names if options.names else size > options.largest:
            continue
        begin, spent = time.monotonic(), min(options.first, options.seconds)
        cost, gap = gap_of(path, best, spent)
        if gap > options.goal and options.seconds > spent:
            spent = options.seconds
            cost, gap = gap_of(path, best, spent)
        num_all += 1
        num_reached += gap <= options.goal
        worst = max(worst, gap)
        print(f"{path.stem:10} {size:>4} {cost:>14} best {best:>14} {gap:7.3f} % with --seconds {spent:g} "
              f"({time.monotonic() - begin:.1f} s in all)", flush=True)
    print(f"within {options.goal:g} %: {num_reached} of {num_all}, largest gap {worst:.3f} %, at most {options.seconds:g} s each")


if __name__ == "__main__":
    main()
