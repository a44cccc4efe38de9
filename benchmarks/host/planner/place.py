#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem place` on a training graph of the shape of a residual network, made here: what each method reaches beside the two
# bounds that no placement beats, the work per device and the longest way. --published: a graph with the nodes, edges, work and
# longest way of the ResNet graph that ParDNN's authors measured; each makespan as a multiple of the longest way, beside theirs.
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

ACTIVATION, WEIGHT, SMALL = 3_000_000, 100_000, 1_000  # bytes


class Graph:
    def __init__(self):
        self.nodes, self.edges, self.draw = [], [], random.Random(1)

    def add(self, name, us, size, inputs=(), resident=0):
        self.nodes.append({"name": name, "us": us, "output_bytes": size, "resident_bytes": resident})
        self.edges += [[each, len(self.nodes) - 1] for each in inputs]
        return len(self.nodes) - 1

    def forward(self, name, value):
        """A convolution, its normalisation and a ReLU; returns what the way back needs."""
        weight = self.add(f"{name}/weight", 1, WEIGHT, resident=WEIGHT)
        scale = self.add(f"{name}/scale", 1, SMALL, resident=SMALL)
        conv = self.add(f"{name}/conv", self.draw.randint(60, 160), ACTIVATION, (value, weight))
        mean = self.add(f"{name}/mean", 8, SMALL, (conv,))
        variance = self.add(f"{name}/variance", 8, SMALL, (conv, mean))
        norm = self.add(f"{name}/norm", 25, ACTIVATION, (conv, mean, variance, scale))
        return {"in": value, "weight": weight, "scale": scale, "conv": conv, "mean": mean, "variance": variance, "norm": norm,
                "out": self.add(f"{name}/relu", 12, ACTIVATION, (norm,))}

    def backward(self, name, gradient, layer):
        at_relu = self.add(f"{name}/relu", 12, ACTIVATION, (gradient, layer["out"]))
        at_norm = self.add(f"{name}/norm", 40, ACTIVATION, (at_relu, layer["conv"], layer["mean"], layer["variance"]))
        of_scale = self.add(f"{name}/scale", 10, SMALL, (at_relu, layer["norm"]))
        of_weight = self.add(f"{name}/weight", self.draw.randint(20, 60), WEIGHT, (at_norm, layer["in"]))
        decay = self.add(f"{name}/decay", 3, WEIGHT, (layer["weight"],))
        total = self.add(f"{name}/total", 3, WEIGHT, (of_weight, decay))
        momentum = self.add(f"{name}/momentum", 1, WEIGHT, resident=WEIGHT)
        self.add(f"{name}/update", 6, 0, (total, momentum))
        self.add(f"{name}/update_scale", 2, 0, (of_scale, layer["scale"]))
        return self.add(f"{name}/input", self.draw.randint(60, 160), ACTIVATION, (at_norm, layer["weight"]))


def residual_graph(blocks):
    graph = Graph()
    value, layers = graph.add("input", 10, ACTIVATION), []
    for block in range(blocks):
        skip = value
        for layer in range(3):
            layers.append(graph.forward(f"block{block}/{layer}", value))
            value = layers[-1]["out"]
        value = graph.add(f"block{block}/add", 15, ACTIVATION, (value, skip))
    gradient = graph.add("loss", 50, ACTIVATION, (value,))
    for block in reversed(range(blocks)):
        skip = gradient
        for layer in reversed(range(3)):
            gradient = graph.backward(f"back{block}/{layer}", gradient, layers.pop())
        gradient = graph.add(f"back{block}/add", 15, ACTIVATION, (gradient, skip))
    return {"nodes": graph.nodes, "edges": graph.edges}


# Nodes, edges, work and longest way of the published graph, in us, and makespans by number of devices: arXiv 2008.08636's code.
PUBLISHED = {"nodes": 6094, "edges": 12222, "work": 69_781, "longest": 58_000}
PUBLISHED_US = {1: {"one": 69_781}, 2: {"pardnn": 60_760, "metis": 60_427, "etf": 62_161},
                4: {"pardnn": 59_265, "metis": 61_152, "etf": 60_583}, 8: {"pardnn": 59_086, "metis": 61_435, "etf": 59_836}}
GOAL_US = {2: 60_000, 4: 58_500}


def longest_way(graph):
    """The length of the longest way, and its nodes."""
    before = [[] for _ in graph["nodes"]]
    for begin, end, *_ in graph["edges"]:
        before[end].append(begin)
    ends, via = [], []
    for node, inputs in zip(graph["nodes"], before):
        last = max(inputs, key=lambda each: ends[each], default=None)
        ends.append(node["us"] + (ends[last] if last is not None else 0))
        via.append(last)
    at = max(range(len(ends)), key=ends.__getitem__)
    length, way = ends[at], set()
    while at is not None:
        way.add(at)
        at = via[at]
    return length, way


def published_graph():
    """A residual graph, filled with constants and control edges to the published counts, its times scaled to the published sums."""
    blocks = 1
    while len(residual_graph(blocks + 1)["nodes"]) <= PUBLISHED["nodes"]:
        blocks += 1
    graph, draw = residual_graph(blocks), random.Random(2)
    nodes, edges = graph["nodes"], graph["edges"]
    size = len(nodes)
    for i in range(PUBLISHED["nodes"] - size):
        nodes.append({"name": f"constant{i}", "us": 1, "output_bytes": 8, "resident_bytes": 8})
    seen = {tuple(edge[:2]) for edge in edges}
    while len(edges) < PUBLISHED["edges"]:
        begin = draw.randrange(size - 200)
        end = draw.randrange(begin + 1, begin + 200)
        if (begin, end) not in seen:
            seen.add((begin, end))
            edges.append([begin, end, 0])
    for _ in range(30):
        length, way = longest_way(graph)
        on_way = PUBLISHED["longest"] / length
        rest = sum(node["us"] for at, node in enumerate(nodes) if at not in way)
        off_way = (PUBLISHED["work"] - PUBLISHED["longest"]) / rest
        for at, node in enumerate(nodes):
            node["us"] *= on_way if at in way else off_way
    for node in nodes:
        node["us"] = round(node["us"], 3)
    return graph


def main():
    parser = argparse.ArgumentParser(description="tandem place on a residual network, by method")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--blocks", type=int, default=70)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--published", action="store_true", help="the graph of the published counts and sums")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.json"
        path.write_text(json.dumps(published_graph() if options.published else residual_graph(options.blocks)))
        for devices in options.devices:
            begin = time.monotonic()
            text = subprocess.run([options.tandem, "place", "--format", "json", path, "--devices", str(devices), "--method",
                                   options.method, "--json"], capture_output=True, text=True, check=True).stdout
            result = json.loads(text)
            members = ", ".join(f"{name} {us:,.0f}" for name, us in result["members_us"].items() if us is not None)
            print(f"{result['num_nodes']:,} nodes, {devices} devices: {result['makespan_us']:,.0f} us by {result['method']} in "
                  f"{time.monotonic() - begin:.1f} s; work per device {result['work_us'] / devices:,.0f}, longest way "
                  f"{result['critical_path_us']:,.0f}; {members}", flush=True)
            if options.published:
                longest = result["critical_path_us"]
                print(f"    of the longest way: {result['makespan_us'] / longest:.4f}; goal "
                      + (f"{GOAL_US[devices] / PUBLISHED['longest']:.4f}" if devices in GOAL_US else "none")
                      + "; published: " + ", ".join(f"{name} {us / PUBLISHED['longest']:.4f} (here "
                                                    f"{(result['members_us'].get(name) or 0) / longest:.4f})"
                                                    for name, us in PUBLISHED_US.get(devices, {}).items()), flush=True)


if __name__ == "__main__":
    main()
