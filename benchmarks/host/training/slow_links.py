#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem train` over slow links against DDP with gloo's dense all-reduce: throughput, and the loss after equal steps.
#
#   benchmarks/host/training/slow_links.py --python VENV/bin/python      # needs root, for the namespaces
#
# Parts, a table each (PARTS has their sizes): `speed`, few steps of larger models, where every rank is a host of
# scripts/netlab.sh; `loss`, a whole training of smaller ones on loopback, whose losses do not depend on links and are
# compared with those of the exact mean; `noisy`, the same with one window a step; `fast`, what --reduce auto and --offload
# auto cost on loopback. A recommender sees every sample once. Contestants: ddp (slow_links_ddp.py under --python), and values of `--reduce`, with
# /OFFLOAD behind them for another `--offload` than none: dense, exdyna@0.01, dense/auto. One JSON line per run: the median
# of rank 0's seconds per step after --settled steps, and the loss of what is held out. A table has medians over seeds; times
# the throughput of ddp and of dense, which are those of the same seed; the loss over theirs, of all seeds and of the seed
# where it is furthest from 1.
# --rate none: on loopback, without namespaces. --results keeps the lines; a run that is there is not repeated, so a table
# may come about in several calls.
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
DECODER = 'name = "stories"\nlayers = {layers}\nwidth = {width}\nheads = 8\nkv_heads = 4\nffn = {ffn}\ncontext = 64\n'
PARTS = {
    "speed": dict(rate="1gbit", layers=5, width=256, steps={"decoder": 50, "recommender": 40}, settled=10, reduce_warmup=5,
                  batch={"decoder": 1, "recommender": 64}, decay="constant", contestants="ddp,dense,exdyna@0.01,exdyna@0.001"),
    "loss": dict(rate="none", layers=2, width=128, steps={"decoder": 1500, "recommender": 2000}, settled=30, reduce_warmup=None,
                 batch={"decoder": 8, "recommender": 64}, decay="cosine", contestants="dense,exdyna@0.01,exdyna@0.001"),
    "noisy": dict(rate="none", layers=2, width=128, steps={"decoder": 2000, "recommender": 2000}, settled=30, reduce_warmup=None,
                  batch={"decoder": 1, "recommender": 16}, decay="cosine", contestants="dense,exdyna@0.01,exdyna@0.001"),
    "fast": dict(rate="none", layers=5, width=256, steps={"decoder": 150, "recommender": 300}, settled=20, reduce_warmup=None,
                 batch={"decoder": 8, "recommender": 64}, decay="constant", contestants="dense,auto,dense/auto"),
}
RECOMMENDER = 'kind = "recommender"\ndense = 13\nwidth = 16\ntables = 26\nrows = {rows}\nbottom = [64, 32]\ntop = [64, 32]\n'
WORDS = "the a cat dog bird sat ran flew on under over mat tree house red blue old new and then".split()


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=TREE / "build" / "release" / "bin" / "tandem")
    parser.add_argument("--python", default="/usr/bin/python3", help="one with torch, for ddp")
    parser.add_argument("--parts", default="speed,loss")
    parser.add_argument("--tasks", default="decoder,recommender")
    parser.add_argument("--contestants", help="this and what follows without a default: of the part")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rate", help="of the links")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, help="windows of 32 tokens, or samples, of each rank")
    parser.add_argument("--settled", type=int)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--decay", choices=["constant", "cosine"], help="of the rates")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--results", type=Path, help="file of the lines")
    parser.add_argument("--reduce-warmup", type=int, help="dense steps at the start; of loss: the sparsifier's")
    return parser.parse_args()


def of_part(given, part):
    """The options with the part's sizes where none are given."""
    whole = dict(vars(given), part=part)
    return argparse.Namespace(**{**whole, **{name: size for name, size in PARTS[part].items() if whole[name] is None}})


def text_of(seed, words):
    """Words that follow each other by fixed odds, so that there is something to learn."""
    fixed, draw = random.Random(7), random.Random(seed)
    after = {word: fixed.sample(WORDS, 4) for word in WORDS}
    text = [WORDS[0]]
    while len(text) < words:
        text.append(draw.choice(after[text[-1]]))
    return " ".join(text)


def clicks_of(seed, count):
    """Criteo's format. Odds depend on 6 of the 26 words and 3 of the numbers; low words come more often."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        words = [int(400 * draw.random() ** 3) for _ in range(26)]
        numbers = [int(draw.expovariate(0.2)) for _ in range(13)]
        odds = sum(((word * 2654435761 >> 8) % 200 - 100) / 80 for word in words[:6]) + (numbers[0] - numbers[1]) / 10
        label = int(draw.random() < 1 / (1 + 2.718281828 ** -odds))
        lines.append("\t".join([str(label), *map(str, numbers), *(f"{word:08x}" for word in words)]))
    return "\n".join(lines) + "\n"


class Task:
    def __init__(self, name, given, folder):
        self.name, self.given, self.folder = name, given, folder
        folder.mkdir()
        self.steps, self.batch = (of[name] if isinstance(of, dict) else of for of in (given.steps, given.batch))
        if name == "decoder":
            shape = DECODER.format(layers=given.layers, width=given.width, ffn=given.width * 5 // 2)
            (folder / "text.txt").write_text(text_of(1, 60_000))
            (folder / "valid.txt").write_text(text_of(2, 3_000))
            self.data = ["--text", folder / "text.txt", "--valid", folder / "valid.txt", "--context", 32]
        else:
            shape = RECOMMENDER.format(rows=given.rows)
            once = self.steps * self.batch * given.hosts
            (folder / "clicks.tsv").write_text(clicks_of(1, max(40_000, once + 1)))
            (folder / "valid.tsv").write_text(clicks_of(2, 8_000))
            self.data = ["--data", folder / "clicks.tsv", "--valid", folder / "valid.tsv"]
        (folder / "shape.toml").write_text(shape)

    def command(self, contestant, seed):
        common = ["--steps", self.steps, "--batch", self.batch, "--seed", seed, "--threads", self.given.threads, "--timeout",
                  self.given.timeout, "--decay", self.given.decay]
        if contestant == "ddp":
            return [self.given.python, HERE / "slow_links_ddp.py", self.name, "--folder", self.folder, *common]
        warmup = ["--reduce-warmup", self.given.reduce_warmup] if self.given.reduce_warmup is not None else []
        reduce, _, offload = contestant.partition("/")
        return [self.given.binary, "train", "--model-config", self.folder / "shape.toml", *self.data, *common, "--json",
                "--transport", "gloo", "--reduce", reduce, "--dense-below", 4096, "--offload", offload or "none", *warmup]


def launch(given, command, store):
    """Rank 0's output."""
    words = [str(word) for word in command]
    tandem = "--transport" in words
    if given.rate != "none":
        place = ["env", "RANK={rank}", "WORLD_SIZE={world}", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=10.91.0.1", "MASTER_PORT=29512",
                 "GLOO_SOCKET_IFNAME=eth0"]
        own = ["--store", "{store}", "--address", "{address}"] if tandem else []
        line = [TREE / "scripts" / "netlab.sh", "--hosts", given.hosts, "--rate", given.rate, "--launcher", "gloo", "--", *place,
                *words, *own]
        return subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, text=True, check=True).stdout
    ranks = []
    for rank in range(given.hosts):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(given.hosts), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29512"}
        own = ["--store", str(store), "--address", "127.0.0.1"] if tandem else []
        ranks.append(subprocess.Popen([*words, *own], stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}))
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit(f"{words} failed")
    return "".join(outputs)


def run(given, task, contestant, seed, store):
    lines = [json.loads(line) for line in launch(given, task.command(contestant, seed), store).splitlines() if line.startswith("{")]
    steps = [line for line in lines if "step" in line]
    last = next(line for line in lines if any(key in line for key in ("held_out", "mean_nll", "logloss")))
    loss = next(last[key] for key in ("held_out", "mean_nll", "logloss") if key in last)
    seconds = sorted(line["seconds"] for line in steps[given.settled:])
    found = {"part": given.part, "task": task.name, "contestant": contestant, "seed": seed, "rate": given.rate, "hosts": given.hosts,
             "steps": len(steps), "batch": task.batch, "settled": given.settled, "median_ms": statistics.median(seconds) * 1e3, "p10_ms": seconds[len(seconds) // 10] * 1e3,
             "p90_ms": seconds[len(seconds) * 9 // 10] * 1e3, "held_out": loss, "load": os.getloadavg()[0]}
    print(json.dumps(found), flush=True)
    if given.results:
        with open(given.results, "a") as file:
            file.write(json.dumps(found) + "\n")
    return found


KEYS = ("part", "task", "contestant", "seed", "rate", "hosts", "steps", "batch")


def earlier(given):
    """Runs of --results, by what tells them apart."""
    if not given.results or not given.results.exists():
        return {}
    lines = [json.loads(line) for line in given.results.read_text().splitlines()]
    return {tuple(line[key] for key in KEYS): line for line in lines}


def table(results, contestants):
    print("\n| task | contestant | ms per step | times ddp | times dense | loss | over ddp (furthest) | over dense (furthest) |\n"
          "|---|---|---|---|---|---|---|---|")
    for task in dict.fromkeys(one["task"] for one in results):
        of = {name: [one for one in results if (one["task"], one["contestant"]) == (task, name)] for name in contestants}
        for name in contestants:
            cells = [f"{statistics.median(one['median_ms'] for one in of[name]):.1f}"]
            for base in ("ddp", "dense"):
                ratios = [theirs["median_ms"] / mine["median_ms"] for theirs, mine in zip(of.get(base, []), of[name])]
                cells.append(f"{statistics.median(ratios):.2f}" if ratios else "")
            cells.append(f"{statistics.mean(one['held_out'] for one in of[name]):.4f}")
            for base in ("ddp", "dense"):
                losses = [(mine["held_out"], theirs["held_out"]) for mine, theirs in zip(of[name], of.get(base, []))]
                mean = sum(mine for mine, _ in losses) / (sum(theirs for _, theirs in losses) or 1)
                furthest = max((mine / theirs for mine, theirs in losses), key=lambda ratio: abs(ratio - 1), default=1)
                cells.append(f"{mean:.4f} ({furthest:.4f})" if losses else "")
            print(f"| {task} | {name} | " + " | ".join(cells) + " |")


def run_part(given):
    contestants = given.contestants.split(",")
    results, known = [], earlier(given)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.tasks.split(","):
            task = Task(name, given, Path(folder) / name)
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                for contestant in contestants:
                    before = known.get((given.part, name, contestant, seed, given.rate, given.hosts, task.steps, task.batch))
                    store = Path(folder) / f"{name}-{contestant.replace('/', '-')}-{seed}"
                    results.append(before or run(given, task, contestant, seed, store))
    table(results, contestants)


def main():
    given = options()
    for part in given.parts.split(","):
        run_part(of_part(given, part))


if __name__ == "__main__":
    sys.exit(main())
