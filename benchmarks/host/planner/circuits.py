#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem map --qasm` on circuits: swaps and depth. Fourier transforms are made here; other circuits are the files of FOLDER. The
# machine is IBM's Q20 Tokyo, or --coupling FILE. Beside them, on Q20 Tokyo, the swaps that SABRE's authors published (a third of
# their added gates), and those of a first-come mapper: qubit i at place i, and each gate moves its first qubit along a shortest way.
# A swap moves two qubits over one link, so swaps are the data movement of both. Every routed file is read back: its swaps are
# followed, all its pairs must be links, and every qubit must meet its gates in the order of the original.
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile
import time

CROSSES = ((1, 7), (2, 6), (3, 9), (4, 8), (5, 11), (6, 10), (7, 13), (8, 12), (11, 17), (12, 16), (13, 19), (14, 18))


# Li, Ding and Xie, "Tackling the qubit mapping problem for NISQ-era quantum devices", 2019: added gates of SABRE.
SABRE = {"4mod5-v1_22": 0, "mod5mils_65": 0, "alu-v0_27": 3, "4gt13_92": 0, "ising_model_10": 0, "ising_model_13": 0,
         "ising_model_16": 0, "qft_10": 54, "qft_13": 93, "qft_16": 186, "rd84_142": 105, "adr4_197": 1614, "radd_250": 1275,
         "z4_268": 1365, "sym6_145": 1272, "misex1_241": 1521, "rd73_252": 2133, "cycle10_2_110": 2622, "square_root_7": 2598,
         "sqn_258": 4344, "rd84_253": 6147, "co14_215": 8982, "sym9_193": 16653, "9symml_195": 17268}


def first_come(text, links):
    """The swaps of the first-come mapper."""
    near = collections.defaultdict(list)
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    place, swaps = list(range(len(near))), 0
    for control, target in re.findall(r"^\s*c\w+\s*(?:\([^)]*\))?\s*q\[(\d+)\]\s*,\s*q\[(\d+)\]", text, re.M):
        begin, end = place[int(control)], place[int(target)]
        before, queue = {begin: None}, collections.deque([begin])
        while end not in before:
            here = queue.popleft()
            for there in sorted(near[here]):
                if there not in before:
                    before[there] = here
                    queue.append(there)
        way = [end]
        while before[way[-1]] is not None:
            way.append(before[way[-1]])
        way.reverse()
        for here, there in zip(way[:-2], way[1:-1]):
            mine, other = place.index(here), place.index(there)
            place[mine], place[other] = there, here
            swaps += 1
    return swaps


def gates_of(text):
    """Of each gate with qubits: its name with parameters, and the indices of its qubits."""
    for line in text.splitlines():
        found = re.match(r"\s*(\w+\s*(?:\([^)]*\))?)\s+((?:\w+\[\d+\]\s*,?\s*)+);", line)
        if found and found[1].split()[0] not in ("qreg", "creg", "measure", "barrier"):
            yield re.sub(r"\s", "", found[1]), [int(each) for each in re.findall(r"\[(\d+)\]", found[2])]


def is_same_circuit(before, after, result, links):
    """Whether the routed text runs the gates of the original, on links only."""
    joined = {frozenset(link) for link in links}
    rows, routed_rows = collections.defaultdict(list), collections.defaultdict(list)
    for name, qubits in gates_of(before):
        for qubit in qubits:
            rows[qubit].append((name.split("(")[0], tuple(qubits)))
    at_place = {place: qubit for qubit, place in enumerate(result["initial_layout"])}
    swaps = 0
    for name, places in gates_of(after):
        if len(places) == 2 and frozenset(places) not in joined:
            return False
        if name == "swap":
            one, other = places
            at_place[one], at_place[other] = at_place.get(other), at_place.get(one)
            swaps += 1
            continue
        qubits = tuple(at_place[place] for place in places)
        for qubit in qubits:
            routed_rows[qubit].append((name.split("(")[0], qubits))
    return rows == routed_rows and swaps == result["swaps"]


def tokyo_links():
    return [(i, i + 1) for i in range(20) if i % 5 < 4] + [(i, i + 5) for i in range(15)] + list(CROSSES)


def tokyo():
    return "".join(f"{a} {b}\n" for a, b in tokyo_links())


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
        links = [tuple(map(int, line.split())) for line in coupling.read_text().splitlines()]
        paths = sorted(options.folder.glob("*.qasm")) if options.folder else []
        for size in (10, 13, 16, 20):
            if options.folder and options.coupling:
                break
            path = here / f"qft_{size}.qasm"
            if any(each.stem == path.stem for each in paths):
                continue
            path.write_text(fourier_transform(size))
            paths.append(path)
        ours = sabre = moved = naive = 0
        for path in paths:
            begin = time.monotonic()
            out = here / "out.qasm"
            process = subprocess.run([options.tandem, "map", "--qasm", path, "--coupling", coupling, "--out", out, "--json"],
                                     capture_output=True, text=True)
            if process.returncode:
                print(f"{path.stem:20} {process.stderr.strip()}")
                continue
            result = json.loads(process.stdout)
            line = f"{path.stem:20} {result['swaps']:>8} swaps, depth {result['depth']:>8} (before {result['depth_before']})"
            seconds = time.monotonic() - begin
            first = first_come(path.read_text(), links)
            if not is_same_circuit(path.read_text(), out.read_text(), result, links):
                raise SystemExit(f"{path.stem}: the routed circuit is another one")
            moved, naive = moved + result["swaps"], naive + first
            line += f", first-come {first}"
            if not options.coupling and path.stem in SABRE:
                ours, sabre = ours + result["swaps"], sabre + SABRE[path.stem] // 3
                line += f", SABRE as published {SABRE[path.stem] // 3}"
            print(f"{line}, {seconds:.1f} s", flush=True)
        if sabre:
            print(f"in all {ours} swaps where SABRE published {sabre}: {100 * (1 - ours / sabre):.1f} % fewer (goal 10)")
        if naive:
            print(f"in all {moved} swaps where the first-come mapper has {naive}: {100 * (1 - moved / naive):.1f} % fewer "
                  "(goal 68)")


if __name__ == "__main__":
    main()
