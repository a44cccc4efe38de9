#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem map` on instances of QAPLIB: how far it ends from the best known values. Instances are not part of Tandem: FOLDER has
# NAME.dat, and NAME.sln, whose first line is the size and the best known value.
import argparse
import json
import pathlib
import subprocess


def main():
    parser = argparse.ArgumentParser(description="tandem map beside the best known values of QAPLIB")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--largest", type=int, default=30)
    options = parser.parse_args()
    num_best = num_all = 0
    for path in sorted(options.folder.glob("*.dat")):
        size, best = path.with_suffix(".sln").read_text().split()[:2]
        if int(size) > options.largest:
            continue
        text = subprocess.run([options.tandem, "map", "--qaplib", path, "--seconds", str(options.seconds), "--seed", "1", "--json"],
                              capture_output=True, text=True, check=True).stdout
        cost = json.loads(text)["cost"]
        num_all += 1
        num_best += cost <= int(best)
        gap = 100 * (cost - int(best)) / int(best) if int(best) else 0
        print(f"{path.stem:10} {size:>4} {cost:>14} best {best:>14} {gap:7.3f} %", flush=True)
    print(f"best known value: {num_best} of {num_all}, {options.seconds:g} s each")


if __name__ == "__main__":
    main()
