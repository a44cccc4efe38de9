#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the last lines of each failed test. test.sh calls it at the end, where the output of the run is far above.

failures.py FILE [LINES]: FILE is what `ctest --output-junit FILE` wrote."""
import sys
import xml.etree.ElementTree as ElementTree


def failures(path, lines):
    """Yields (name, last lines) of each failed test."""
    for case in ElementTree.parse(path).iter("testcase"):
        if case.get("status") == "fail":
            yield case.get("name"), (case.findtext("system-out") or "").rstrip().splitlines()[-lines:]


def main():
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    for name, text in failures(sys.argv[1], lines):
        print(f"\n== {name} failed; its last lines:", *text, sep="\n  ")


if __name__ == "__main__":
    main()
