#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does sparsifying pay? Per model and density: what a step costs with each sparsifier, and the link speed that pays.

    python3 benchmarks/host/collectives/sparsifier_study/study.py --out FOLDER --python PYTHON

Writes RESULTS.md, an SVG per model and figures.json. Local work is measured: `tandem sparsify-bench` with one rank on
synthetic gradients of the model's size (exclusive sparsifiers on an N-th of it, which is what a rank selects from).
Communication is the bench's virtual time over a simulated network, by the same code, at two sizes and extended linearly
to the model's. Forward and backward are measured by forward_backward.py; PYTHON has host/model/demo/requirements.txt.
`--full` takes three times as many steps. `--figures FILE` writes the pages again from saved figures.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import chart

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {"demo": ("the demo model", 3_967_744), "resnet50": ("as large as ResNet-50", 25_557_032),
          "bert": ("as large as BERT-base", 109_482_240)}
DENSITIES = (0.1, 0.01, 0.001)
SPEEDS = (1, 10, 25, 100)  # Gb/s
SIMULATED = (1, 100)  # of these; a message takes latency + bytes / speed, which gives the others
EXCLUSIVE = ("deft", "micro", "exdyna")
SPARSIFIERS = ("topk", "dgc", "sidco", "gaussiank", "redsync", "ok_topk", "chunk_topk") + EXCLUSIVE
SIZES = (100_000, 400_000)  # of simulated exchanges


def steps_of(options, model):
    """Large models get fewer."""
    return max(4, min(options.steps, options.steps * 7_000_000 // MODELS[model][1]))


def bench(options, names, *arguments, clock=None):
    command = [options.tandem, "sparsify-bench", "--json", "--sparsifiers", ",".join(names), *map(str, arguments)]
    environment = dict(os.environ, LD_PRELOAD=clock) if clock else None
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return {line["name"]: line for line in map(json.loads, output.splitlines())}


def measure_exchanges(options):
    """exchanges[density][name][speed] = milliseconds at each of SIZES; beside them build-up and density sent."""
    exchanges = {}
    for density in DENSITIES:
        by_name = exchanges[str(density)] = {}
        for speed in SIMULATED:
            for size in SIZES:
                lines = bench(options, SPARSIFIERS, "--synthetic", size, "--density", density, "--world", options.world,
                              "--steps", options.exchange_steps, "--bandwidth-gbps", speed)
                for name, line in lines.items():
                    entry = by_name.setdefault(name, {})
                    entry.setdefault(str(speed), []).append(line["exchange_ms"])
                    entry.update({key: line[key] for key in ("build_up", "inefficiency", "density_sent")})
                    by_name.setdefault("dense", {}).setdefault(str(speed), {})[str(size)] = line["dense_ms"]
                print(f"density {density}, {speed} Gb/s, {size} values", flush=True)
        for speed in SIMULATED:
            by_name["dense"][str(speed)] = [by_name["dense"][str(speed)][str(size)] for size in SIZES]
    return exchanges


def measure_local(options):
    """local[model][density][name]: the bench's times on one rank."""
    local = {}
    for model in options.models:
        values = MODELS[model][1]
        for density in DENSITIES:
            whole = [name for name in SPARSIFIERS if name not in EXCLUSIVE]
            steps = ["--world", 1, "--steps", steps_of(options, model), "--density", density]
            lines = bench(options, whole, "--synthetic", values, *steps, clock=options.clock)
            lines |= bench(options, EXCLUSIVE, "--synthetic", values // options.world, *steps, clock=options.clock)
            local.setdefault(model, {})[str(density)] = {
                name: {key: line[key] for key in ("select_ms", "rest_ms", "update_ms", "accumulate_ms", "plain_read_ms",
                                                   "of_plain_read", "values")}
                for name, line in lines.items()}
            print(f"{model}, density {density}: one rank", flush=True)
    return local


def measure_forward_backward(options):
    """{model: sentence}."""
    sentences = {}
    for model in options.models:
        command = [options.python, str(HERE / "forward_backward.py"), model, "--json"]
        line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        sentences[model] = (f"Forward and backward of a Llama-like model of {line['parameters']:,} parameters "
                            f"(`host/model/demo/network.py`), {line['rows']} rows\nof {line['tokens']} tokens, one core, "
                            f"processor time: {line['ms']:,.0f} ms.")
        print(f"{model}: forward and backward {line['ms']:.0f} ms", flush=True)
    return sentences


def built_clock(folder):
    """The library that makes a thread's clock its processor time."""
    library = pathlib.Path(folder) / "thread_clock.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "thread_clock.c"], check=True)
    return str(library)


def check_python(python):
    if subprocess.run([python, "-c", "import jax"], capture_output=True).returncode != 0:
        sys.exit(f"{python} cannot import jax: name a Python that has host/model/demo/requirements.txt with --python, or say "
                 "--no-forward to leave forward and backward out")


def load():
    return pathlib.Path("/proc/loadavg").read_text().split()[0]


def measure(options):
    begin, before = time.monotonic(), load()
    with tempfile.TemporaryDirectory() as folder:
        options.clock = None if options.wall_clock else built_clock(folder)
        figures = {"world": options.world, "exchanges": measure_exchanges(options), "local": measure_local(options)}
        if options.forward:
            figures["forward_backward"] = measure_forward_backward(options)
    figures["run"] = {"steps": options.steps, "exchange_steps": options.exchange_steps, "machine": platform.machine(),
                      "steps_of_models": {model: steps_of(options, model) for model in options.models},
                      "clock": "wall clock" if options.wall_clock else "processor time of the rank's thread",
                      "load_before": before, "load_after": load(), "minutes": round((time.monotonic() - begin) / 60, 1)}
    return figures


def extended(pair, values):
    """The line through both sizes, at `values`."""
    slope = (pair[1] - pair[0]) / (SIZES[1] - SIZES[0])
    return pair[0] + slope * (values - SIZES[0])


def communication(exchanges, values):
    """{speed: ms} of a model's size."""
    slow, fast = (extended(exchanges[str(speed)], values) for speed in SIMULATED)
    megabits = (slow - fast) / (1 / SIMULATED[0] - 1 / SIMULATED[1])
    return {speed: slow - megabits / SIMULATED[0] + megabits / speed for speed in SPEEDS}


def cost_of(figures, model, density, name):
    """residual, select, encode, update (ms), and {speed: communication}. A rank of exclusive ones clears and sends k of all."""
    values, line = MODELS[model][1], figures["local"][model][str(density)][name]
    share = figures["world"] if name in EXCLUSIVE else 1
    return {"residual": line["accumulate_ms"] * share, "select": line["select_ms"], "encode": line["rest_ms"] * share,
            "update": line["update_ms"] * share,
            "communication": communication(figures["exchanges"][str(density)][name], values)}


def dense_cost(figures, model):
    """The dense update streams weights and gradient as accumulating does, so that time stands for it."""
    line = figures["local"][model][str(DENSITIES[-1])]["topk"]
    exchanges = figures["exchanges"][str(DENSITIES[-1])]["dense"]
    return {"residual": 0, "select": 0, "encode": 0, "update": line["accumulate_ms"],
            "communication": communication(exchanges, MODELS[model][1])}


def local_sum(cost):
    return cost["residual"] + cost["select"] + cost["encode"] + cost["update"]


def through(cost):
    """communication = latency + megabits / (Gb/s), from the slowest and the fastest link."""
    slow, fast = SPEEDS[0], SPEEDS[-1]
    megabits = (cost["communication"][slow] - cost["communication"][fast]) / (1 / slow - 1 / fast)
    return cost["communication"][slow] - megabits / slow, megabits


def break_even(sparse, dense):
    """The Gb/s below which `sparse` is faster; None: nowhere."""
    (latency, megabits), (dense_latency, dense_megabits) = through(sparse), through(dense)
    lost = local_sum(sparse) + latency - local_sum(dense) - dense_latency
    saved = dense_megabits - megabits
    if saved <= 0:
        return None
    return saved / lost if lost > 0 else float("inf")


def speed_text(speed):
    if speed is None:
        return "never"
    return "at any" if speed == float("inf") else f"{speed:,.0f}" if speed >= 1000 else f"{speed:.3g}"


def table(figures, model, density):
    dense = dense_cost(figures, model)
    rows = ["| sparsifier | residual | select | encode | 1 Gb/s | 10 | 25 | 100 | update | pays below, Gb/s |", "|---" * 10 + "|"]
    for name in ("dense",) + SPARSIFIERS:
        cost = dense if name == "dense" else cost_of(figures, model, density, name)
        cells = [f"{cost[part]:.3g}" for part in ("residual", "select", "encode")]
        cells += [f"{cost['communication'][speed]:.3g}" for speed in SPEEDS]
        pays = "" if name == "dense" else speed_text(break_even(cost, dense))
        rows.append("| " + " | ".join([name, *cells, f"{cost['update']:.3g}", pays]) + " |")
    return "\n".join(rows)


def outcome(figures):
    """Over the models: the least and the greatest speed below which each sparsifier pays, and what selecting takes."""
    rows = ["## Where each pays", "", "On links below so many Gb/s, over the models:", "",
            "| sparsifier | " + " | ".join(f"{100 * d:g} %" for d in DENSITIES) + " |", "|---" * (1 + len(DENSITIES)) + "|"]
    shares = []
    for name in SPARSIFIERS:
        cells = []
        for density in DENSITIES:
            costs = [(cost_of(figures, model, density, name), dense_cost(figures, model)) for model in figures["local"]]
            speeds = sorted((break_even(cost, dense) or 0.0) for cost, dense in costs)
            ends = [speed_text(speed or None) for speed in (speeds[0], speeds[-1])]
            cells.append(ends[0] if ends[0] == ends[1] else " to ".join(ends))
            shares += [cost["select"] / local_sum(cost) for cost, _ in costs if name != "chunk_topk"]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    shares.sort()
    least, middle, most = (100 * shares[place] for place in (0, len(shares) // 2, -1))
    rows += ["", f"Selecting is {least:.0f} to {most:.0f} % of the work beside forward, backward and communication (median "
             f"{middle:.0f} %), without `chunk_topk`."]
    return "\n".join(rows)


def page(figures):
    run = dict(figures["run"])
    taken = run.pop("steps_of_models")
    run["steps_of"] = ", ".join(f"{model} {taken[model]}" for model in figures["local"])
    text = [(HERE / "introduction.md").read_text().format(**run, world=figures["world"])]
    text.append(outcome(figures))
    forward = figures.get("forward_backward", {})
    for model in figures["local"]:
        name, values = MODELS[model]
        text.append(f"\n## {name[0].upper()}{name[1:]}: {values:,} values\n")
        if model in forward:
            text.append(forward[model] + "\n")
        text.append(f"![{name}]({model}.svg)\n")
        for density in DENSITIES:
            text.append(f"Density {100 * density:g} %, milliseconds:\n\n{table(figures, model, density)}\n")
    text.append("\n## What is sent\n\n| sparsifier | " + " | ".join(f"{100 * d:g} %" for d in DENSITIES) + " |\n" + "|---" * 4 + "|")
    for name in SPARSIFIERS:
        lines = [figures["exchanges"][str(d)][name] for d in DENSITIES]
        text.append(f"| {name} | " + " | ".join(f"{line['density_sent']:.3g}, build-up {line['build_up']:.3g}" for line in lines) + " |")
    return "\n".join(text) + "\n"


def write_pages(figures, folder):
    (folder / "RESULTS.md").write_text(page(figures))
    for model in figures["local"]:
        density = 0.001
        lines = {"dense": dense_cost(figures, model)}
        lines |= {name: cost_of(figures, model, density, name) for name in SPARSIFIERS}
        points = {name: [(speed, local_sum(cost) + cost["communication"][speed]) for speed in SPEEDS]
                  for name, cost in lines.items()}
        title = f"{MODELS[model][0]}, density 0.1 %, {figures['world']} ranks: a step without forward and backward"
        (folder / f"{model}.svg").write_text(chart.log_log(title, "link, Gb/s", "ms", points))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--out", required=True)
    parser.add_argument("--figures", help="saved figures.json: measure nothing")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--python", default=sys.executable, help="has host/model/demo/requirements.txt")
    parser.add_argument("--no-forward", dest="forward", action="store_false", help="forward and backward are not measured")
    parser.add_argument("--wall-clock", action="store_true", help="local times are not processor times: for a machine without other work")
    parser.add_argument("--world", type=int, default=8)
    parser.add_argument("--full", action="store_true", help="three times as many steps")
    options = parser.parse_args()
    options.steps, options.exchange_steps = (90, 24) if options.full else (30, 8)
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    if options.figures:
        figures = json.loads(pathlib.Path(options.figures).read_text())
    else:
        if options.forward:
            check_python(options.python)
        figures = measure(options)
        (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    write_pages(figures, folder)


if __name__ == "__main__":
    main()
