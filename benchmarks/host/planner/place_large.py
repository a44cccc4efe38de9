#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem place` of a large random graph from a file: seconds by the clock, reading included, and peak memory of devices below
# the limit. Every node takes two tensors from among the 64 nodes before it.
import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time


def write_graph(path, num_nodes):
    draw = random.Random(3)
    with path.open("w") as file:
        file.write('{"nodes":[')
        for i in range(num_nodes):
            file.write(f'{"," if i else ""}{{"name":"n{i}","us":{draw.randint(1, 100)},"output_bytes":{draw.randint(1, 1 << 20)}}}')
        file.write('],"edges":[')
        for i in range(1, num_nodes):
            ends = {draw.randrange(max(0, i - 64), i) for _ in range(2)}
            file.write(("," if i > 1 else "") + ",".join(f"[{end},{i}]" for end in sorted(ends)))
        file.write("]}")


def main():
    parser = argparse.ArgumentParser(description="tandem place on a large graph")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=["auto"])
    parser.add_argument("--memory", default="1TiB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.json"
        write_graph(path, options.nodes)
        for method in options.methods:
            begin, before = time.monotonic(), os.times()
            text = subprocess.run([options.tandem, "place", "--format", "json", path, "--devices", str(options.devices), "--method",
                                   method, "--memory", options.memory, "--json"], capture_output=True, text=True, check=True).stdout
            seconds, after = time.monotonic() - begin, os.times()
            result = json.loads(text)
            print(f"{result['num_nodes']:,} nodes, {result['num_edges']:,} edges, {options.devices} devices: {seconds:.1f} s by the "
                  f"clock, {after.children_user + after.children_system - before.children_user - before.children_system:.1f} s of "
                  f"processor; {result['makespan_us']:,.0f} us by {result['method']}, most memory "
                  f"{max(result['peak_bytes']) / 2**30:.1f} GiB; {result['members_us']}", flush=True)


if __name__ == "__main__":
    main()
