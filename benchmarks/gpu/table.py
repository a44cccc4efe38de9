# SPDX-License-Identifier: Apache-2.0
"""The JSON lines of GPU benchmarks as one table: python3 benchmarks/gpu/table.py LOG...

ratio: to what the benchmark measured beside it (the device's copy bandwidth or matrix rate). torch: PyTorch's time over
ours, where torch_peer.py has a figure of the same name.
"""

import json
import sys


def figures(paths):
    for path in paths:
        try:
            with open(path) as file:
                for line in file:
                    if line.startswith('{"name"'):
                        yield json.loads(line)
        except OSError:
            continue


def main():
    ours, torch, met = [], {}, set()
    for figure in figures(sys.argv[1:]):
        name = figure["name"]
        if name.startswith("torch_"):
            torch[name.removeprefix("torch_")] = figure.get("median")
        else:
            ours.append(figure)
    form = "{:<52} {:>10} {:>10} {:>12} {:>7} {:>7}"
    print(form.format("figure", "ms", "p90", "rate", "ratio", "torch"))
    for figure in ours:
        speed = next((f"{value:.0f} {key.split('_')[0]}/s" for key, value in figure.items() if key.endswith("_per_s")), "")
        name = figure["name"].removeprefix("gpu_").replace("_hopper/", "/")  # of another kernel path
        peer = torch.get(name)
        met.add(name)
        print(form.format(figure["name"], figure["median"], figure["p90"], speed, figure.get("ratio", ""),
                          f"{peer / figure['median']:.2f}" if peer else ""))
    for name, median in torch.items():
        if name not in met:
            print(form.format("torch_" + name, median if median is not None else "", "", "", "", ""))


main()
