#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What moving layers gains in real runs of `tandem train --pipeline 4`, for the six workloads whose layers' times change.
#
# Four ranks of this machine train a small decoder on this tree's pages. Each rank measures its layers by its own processor
# time, so ranks may share cores. From the times of each window of steps the trainer plays three plans through the schedule:
# that of the first step, the present one, and the best. A run without moves must have the same losses, bit by bit.
# ideal: bottleneck of the first plan / bottleneck of the best, over the run. gain: time of the first plan / of those that
# were used. The goal is half of the ideal gain. overhead: share of the run for profiling, deciding and moving.
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[3]
RANKS = 4
MICRO_BATCHES = 16  # four per stage, as the published script of DynMo has them
STEPS = ["--batch", 1, "--accumulate", MICRO_BATCHES, "--threads", 1, "--log-every", 1, "--json"]
SHAPE = {"layers": 14, "width": 128, "heads": 4, "kv_heads": 2, "ffn": 256, "context": 128, "tied": False}
WORKLOADS = {  # name: shape (None: the demo model), options, steps
    # Tokens that an expert has no room for pass by: the more they agree on one expert, the less a block computes.
    "moe": ({"width": 96, "ffn": 768, "experts": 4, "experts_used": 1}, ["--expert-capacity", 1, "--expert-skew", 1], 60),
    # A model that has learned: the smallest weights of all its layers are not spread evenly over them.
    "pruning": (None, ["--prune", 0.9, "--prune-together", "--prune-from", 0, "--prune-to", 0.4, "--rate", "5e-4"], 30),
    "freezing": ({}, ["--freeze", 0.05], 40),
    "sparse-attention": ({"layers": 10, "width": 64, "ffn": 64, "context": 768},
                         ["--sparse-attention", 0.9, "--sparse-attention-last", 0.1], 20),
    "early-exit": ({}, ["--early-exit", 0.95], 40),
    # The output computes all tokens, so it weighs more and more: it has the words of the demo model.
    "mixture-of-depths": ({"layers": 11, "width": 160, "ffn": 448, "context": 192, "tokenizer": "stories.gguf"},
                          ["--depth", 0.125], 30),
}


def pages():
    """The text: this tree's pages, in the order of their names."""
    files = sorted(path for path in TREE.rglob("*.md") if "build" not in path.relative_to(TREE).parts[:1])
    return "\n".join(path.read_text() for path in files)


def model_options(shape, folder):
    if shape is None:
        return ["--from", folder / "stories.gguf", "--context", SHAPE["context"]]
    shape = {**SHAPE, **shape}
    (folder / "shape.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in shape.items()))
    return ["--model-config", folder / "shape.toml", "--context", shape["context"]]


def run(program, folder, name, steps, rebalance):
    shape, options, _ = WORKLOADS[name]
    model = model_options(shape, folder)
    if "--rate" not in options:
        options = ["--rate", "2e-3", *options]
    meeting = folder / f"{name}-{rebalance}"
    started = []
    for rank in range(RANKS):
        command = [program, "train", "--pipeline", RANKS, *model, "--text", folder / "text.txt", *STEPS, "--steps", steps,
                   "--store", meeting, "--layer-times", "processor", "--rebalance", rebalance, *options]
        place = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS)}
        started.append(subprocess.Popen(list(map(str, command)), env={**os.environ, **place}, stderr=subprocess.PIPE,
                                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, text=True))
    outputs = [process.communicate() for process in started]
    for process, (_, error) in zip(started, outputs):
        if process.returncode != 0:
            raise SystemExit(f"{name}: {error}")
    return [json.loads(line) for line in outputs[0][0].splitlines() if line.startswith("{")]


def losses(lines):
    return [(line["step"], line["loss"], line["gradient_norm"]) for line in lines if "loss" in line]


def sums_of(lines):
    """Microseconds of the whole run by plan. A step in which layers moved counts as those before it."""
    sums = {(plan, what): 0.0 for plan in ("first", "present", "best") for what in ("bottleneck_us", "step_us")}
    done, last = 0, None
    for window in (line for line in lines if "profiled_steps" in line):
        begin, end = window["profiled_steps"]
        for steps, source in ((begin - 1 - done, last or window), (end - begin + 1, window)):
            for plan, what in sums:
                sums[plan, what] += steps * source[plan][what]
        done, last = end, window
    return sums


def row(program, folder, name, steps):
    begin = time.time()
    moved = run(program, folder, name, steps, 1)
    still = run(program, folder, name, steps, 0)
    sums = sums_of(moved)
    windows = [line["layers_us"] for line in moved if "profiled_steps" in line]
    told = next(line["pipeline"] for line in moved if "pipeline" in line)
    ideal = sums["first", "bottleneck_us"] / sums["best", "bottleneck_us"]
    gain = sums["first", "step_us"] / sums["present", "step_us"]
    curve = losses(moved)
    goal = 1 + (ideal - 1) / 2
    return {"workload": name, "steps": steps, "migrations": told["migrations"], "ideal_gain": round(ideal, 3),
            "gain": round(gain, 3), "goal": round(goal, 3), "met": gain >= goal, "overhead": round(told["overhead"], 4),
            "overhead_goal": 0.03, "overhead_met": told["overhead"] < 0.03, "same_losses": curve == losses(still),
            "first_loss": round(curve[0][1], 3), "last_loss": round(sum(loss for _, loss, _ in curve[-3:]) / 3, 3),
            "largest_change_of_a_layer": round(max(max(times) / min(times) for times in zip(*windows)), 2),
            "seconds": round(time.time() - begin)}


def main():
    parser = argparse.ArgumentParser(description="Gains of moving layers in real runs of four ranks.")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", choices=sorted(WORKLOADS), action="append")
    parser.add_argument("--steps", type=int, help="default: by workload")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build).resolve() / "bin" / "tandem"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text.txt").write_text(pages())
        models = program.parents[1] / "share" / "tandem" / "models"
        (folder / "stories.gguf").symlink_to(models / "tandem-stories-q8_0.gguf")
        for workload in arguments.only or WORKLOADS:
            steps = arguments.steps or WORKLOADS[workload][2]
            print(json.dumps(row(program, folder, workload, steps)), flush=True)


if __name__ == "__main__":
    main()
