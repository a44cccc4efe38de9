# SPDX-License-Identifier: Apache-2.0
"""labels_test.py ctest build: every built test of ctest has a label, a time limit and a name without blanks, and cases of
programs that interpret GPU kernels have both labels of theirs."""

import json
import pathlib
import subprocess
import sys


def complaint(test):
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    labels = set(properties.get("LABELS", []))
    if not labels or not properties.get("TIMEOUT"):
        return "has no label or no time limit"
    if " " in test["name"]:
        return "has a blank in its name: ctest forgets how long it takes"
    program = pathlib.Path(test["command"][0]).name
    if program.endswith("_simt_test") and not labels >= {"unit", "interpreted"}:
        return f"has only the labels {sorted(labels)}"
    return None


def main():
    ctest, build = sys.argv[1:]
    listed = subprocess.run([ctest, "--show-only=json-v1"], cwd=build, check=True, stdout=subprocess.PIPE).stdout
    built = [test for test in json.loads(listed)["tests"] if test.get("command")]
    complaints = [f"{test['name']} {text}" for test in built if (text := complaint(test))]
    print("\n".join(complaints[:20] + [f"{len(built)} tests, {len(complaints)} complaints"]))
    return 1 if complaints or not built else 0


if __name__ == "__main__":
    sys.exit(main())
