#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem map --qasm` on circuits: swaps and depth. Fourier transforms are made here; other circuits are the files of FOLDER. The
# machine is IBM's Q20 Tokyo, or --coupling FILE.
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

CROSSES = ((1, 7), (2, 6), (3, 9), (4, 8), (5, 11), (6, 10), (7, 13), (8, 12), (11, 17), (12, 16), (13, 19), (14, 18))


def tokyo():
    rows = [(i, i + 1) for i in range(20) if i % 5 < 4] + [(i, i + 5) for i in range(15)]
    return "".join(f"{a} {b}\n" for a, b in (*rows, *CROSSES))


def fourier_transform(size):
    """Controlled turns are two CX each, as in the published circuits; the order of qubits is not turned at the end."""
    text = f'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[{size}];\n'
    for i in range(size):
        text += f"h q[{i}];\n"
        for j in range(i + 1, size):
            angle = f"pi/{2 ** (j - i + 1)}"
            text += (f"u1({angle}) q[{j}];\ncx q[{j}],q[{i}];\nu1(-{angle}) q[{i}];\ncx q[{j}],q[{i}];\nu1({angle}) q[{i}];\n")
    return text


def main():
    parser = argparse.ArgumentParser(description="tandem map --qasm on circuits")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--coupling", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        coupling = options.coupling or here / "tokyo.txt"
        if not options.coupling:
            coupling.write_text(tokyo())
        paths = sorted(options.folder.glob("*.qasm")) if options.folder else []
        for size in (10, 13, 16, 20):
            path = here / f"qft_{size}.qasm"
            path.write_text(fourier_transform(size))
            paths.append(path)
        for path in paths:
            begin = time.monotonic()
            process = subprocess.run([options.tandem, "map", "--qasm", path, "--coupling", coupling, "--json"], capture_output=True,
                                     text=True)
            if process.returncode:
                print(f"{path.stem:20} {process.stderr.strip()}")
                continue
            result = json.loads(process.stdout)
            print(f"{path.stem:20} {result['swaps']:>8} swaps, depth {result['depth']:>8} (before {result['depth_before']}), "
                  f"{time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
