#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem place` on a training graph of the shape of a residual network, made here: what each method reaches beside the two
# bounds that no placement beats, the work per device and the longest way.
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


def main():
    parser = argparse.ArgumentParser(description="tandem place on a residual network, by method")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--blocks", type=int, default=70)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--method", default="auto")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.json"
        path.write_text(json.dumps(residual_graph(options.blocks)))
        for devices in options.devices:
            begin = time.monotonic()
            text = subprocess.run([options.tandem, "place", "--format", "json", path, "--devices", str(devices), "--method",
                                   options.method, "--json"], capture_output=True, text=True, check=True).stdout
            result = json.loads(text)
            members = ", ".join(f"{name} {us:,.0f}" for name, us in result["members_us"].items() if us is not None)
            print(f"{result['num_nodes']:,} nodes, {devices} devices: {result['makespan_us']:,.0f} us by {result['method']} in "
                  f"{time.monotonic() - begin:.1f} s; work per device {result['work_us'] / devices:,.0f}, longest way "
                  f"{result['critical_path_us']:,.0f}; {members}")


if __name__ == "__main__":
    main()
