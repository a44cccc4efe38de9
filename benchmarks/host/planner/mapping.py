#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem map` on instances of QAPLIB: how far it ends from the best known values. Instances are not part of Tandem: FOLDER has
# NAME.dat, and NAME.sln, whose first line is the size and the best known value. Each instance is searched for --ladder seconds, one
# after the other, until it is within its goal: the best known value up to 30 tasks, 0.2 % above. The worst are told at the end.
import argparse
import json
import pathlib
import subprocess
import time

# The flows of kra32.dat are a fifth of those that its published value, 88,700, belongs to.
OTHER_UNITS = {"kra32": 88_700 // 5}
EXACT_TO, LARGE_GOAL = 30, 0.2


def main():
    parser = argparse.ArgumentParser(description="tandem map beside the best known values of QAPLIB")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--ladder", type=float, nargs="+", default=[0.3, 1, 4, 20], help="seconds of one search after the other")
    parser.add_argument("--goal", type=float, help="most percent above the best known value (default: 0 up to 30 tasks, then 0.2)")
    parser.add_argument("--largest", type=int, default=150)
    parser.add_argument("--names", nargs="+", help="only these")
    parser.add_argument("--method", default="direct", choices=("direct", "qubo"))
    options = parser.parse_args()

    def cost_of(path, seconds):
        return json.loads(subprocess.run([options.tandem, "map", "--qaplib", path, "--seconds", str(seconds), "--seed", "1", "--method",
                                          options.method, "--json"], capture_output=True, text=True, check=True).stdout)["cost"]

    rows, begin_of_all = [], time.monotonic()
    for path in sorted(options.folder.glob("*.dat")):
        size, best = (int(word) for word in path.with_suffix(".sln").read_text().split()[:2])
        best = OTHER_UNITS.get(path.stem, best)
        if path.stem not in options.names if options.names else size > options.largest:
            continue
        goal = options.goal if options.goal is not None else 0 if size <= EXACT_TO else LARGE_GOAL
        begin = time.monotonic()
        for seconds in options.ladder:
            cost = cost_of(path, seconds)
            gap = 100 * (cost - best) / best if best else 100 * cost
            if gap <= goal:
                break
        rows.append((gap - goal, f"{path.stem:10} {size:>4} {cost:>14} best {best:>14} {gap:7.3f} % with --seconds {seconds:g}", size, gap))
        print(f"{rows[-1][1]} ({time.monotonic() - begin:.1f} s in all)", flush=True)
    for name, group in (("up to 30 tasks", [row for row in rows if row[2] <= EXACT_TO]),
                        ("larger", [row for row in rows if row[2] > EXACT_TO])):
        if group:
            print(f"{name}: {sum(row[0] <= 0 for row in group)} of {len(group)} within the goal, {sum(row[3] <= 0 for row in group)} at "
                  f"the best known value, largest gap {max(row[3] for row in group):.3f} %")
    for row in sorted(rows, reverse=True)[:12]:
        if row[0] > 0:
            print("missed:", row[1])
    print(f"{time.monotonic() - begin_of_all:.0f} s")


if __name__ == "__main__":
    main()
