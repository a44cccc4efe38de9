# SPDX-License-Identifier: Apache-2.0
"""The table of `tandem bench` beside the same rows on the peer, sample by sample in turns.

    python3 -m venv peer && CMAKE_ARGS=-DGGML_NATIVE=ON peer/bin/pip install --no-binary llama-cpp-python llama-cpp-python
    python3 benchmarks/peer/compare.py --python peer/bin/python --tandem build/release/bin/tandem MODEL.gguf

Both programs are alive for the whole row and only one of them works at a time; the figure is the median
of the ratios of neighbouring samples. The peer runs with as many threads as cores, FP16 keys and values and
flash attention on and off, whichever is faster in this row. Prints a table, with --json one object per
row, with --markdown a Markdown table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

WORKER = Path(__file__).with_name("peer_worker.py")
TRIAL_SAMPLES = 3  # to choose with or without flash attention


class Worker:
    """A program that gives one line of JSON per line on its standard input."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise SystemExit(f"{' '.join(map(str, self.command))} ended with {self.process.returncode}")
        return json.loads(line)

    def ask(self, word=""):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


class Peer(Worker):
    def __init__(self, options, row, flash):
        kind, batch, context = row
        super().__init__([options.python, WORKER, "--model", options.model, "--kind", kind, "--batch", batch,
                          "--context", context, "--threads", options.threads, "--flash", flash])
        self.flash = flash
        self.version = self.read()["version"]

    def sample(self):
        self.ask()
        return self.read()["tokens_per_s"]


class Tandem(Worker):
    def __init__(self, options, row):
        kind, batch, context = row
        rows = (["--no-decode", "--prefill", context] if kind == "prefill"
                else ["--no-prefill", "--decode", f"{batch}@{context}"])
        super().__init__([options.tandem, "bench", "--model", options.model, "--json", "--turns", "--loads", 1,
                          "--samples", 1000, "--seconds", 100000, "--threads", options.threads,
                          "--kv-memory", "16GiB", *options.tandem_options, *rows])
        self.load = self.read()
        ready = self.read()
        if "skipped" in ready:
            raise SystemExit(f"{ready['name']}: {ready['skipped']}")

    def sample(self):
        self.ask()
        return self.read()["tokens_per_s"]

    def figure(self):
        self.ask("end")
        return self.read()


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def summary(values):
    return {"median": quantile(values, 0.5), "p10": quantile(values, 0.1), "p90": quantile(values, 0.9)}


def better_peer(options, row):
    """With or without flash attention: the faster one of this row, still alive."""
    if options.flash != "auto":
        return Peer(options, row, options.flash)
    speeds = {}
    for flash in ("on", "off"):  # one at a time: two of them may not fit the memory
        peer = Peer(options, row, flash)
        speeds[flash] = statistics.median(peer.sample() for _ in range(TRIAL_SAMPLES))
        if flash == "off" and speeds["off"] > speeds["on"]:
            return peer
        peer.close()
    return Peer(options, row, "on")


def compare(options, row):
    kind, batch, context = row
    tandem = Tandem(options, row)
    peer = better_peer(options, row)
    ours, theirs = [], []
    for sample in range(-1, options.samples):
        pair = tandem.sample(), peer.sample()
        if sample < 0:
            continue  # both warm
        ours.append(pair[0])
        theirs.append(pair[1])
    peer.close()
    figure = tandem.figure()
    tandem.close()
    return {
        "name": f"peer/{kind}_{context}" if kind == "prefill" else f"peer/decode_batch{batch}_context{context}",
        "unit": "tokens/s", "samples": len(ours), "tandem": summary(ours), "peer": summary(theirs),
        "ratio": summary([one / other for one, other in zip(ours, theirs)]),
        "roofline_fraction": figure.get("roofline_fraction"), "limited_by": figure.get("limited_by"),
        "speeds": figure.get("speeds"), "weights": figure.get("weights"), "model": Path(options.model).name,
        "peer_version": peer.version, "peer_flash": peer.flash, "threads": options.threads,
        "load_1_minute": os.getloadavg()[0], "command": " ".join(sys.argv),
    }


def title(result):
    return result["name"].removeprefix("peer/").replace("_", " ")


def cells(result):
    fraction = result["roofline_fraction"]
    return [title(result), f"{result['tandem']['median']:.1f}", f"{result['peer']['median']:.1f}",
            f"{result['ratio']['median']:.2f}",
            f"{result['ratio']['p10']:.2f} .. {result['ratio']['p90']:.2f}",
            "-" if fraction is None else f"{fraction:.2f} ({result['limited_by']})",
            str(result["samples"]), result["peer_flash"]]


HEADS = ["row", "Tandem", "peer", "ratio", "p10 .. p90", "of the roofline", "samples", "flash"]


def show(options, result, first):
    if options.json:
        print(json.dumps(result), flush=True)
    elif options.markdown:
        if first:
            print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
        print("| " + " | ".join(cells(result)) + " |", flush=True)
    else:
        form = "{:<28} {:>10} {:>10} {:>7} {:>14} {:>20} {:>8} {:>6}"
        if first:
            print(form.format(*HEADS))
        print(form.format(*cells(result)), flush=True)


def parse_rows(options):
    rows = [("prefill", 1, int(tokens)) for tokens in options.prefill.split(",") if tokens]
    for word in options.decode.split(","):
        if word:
            batch, context = word.split("@")
            rows.append(("decode", int(batch), int(context)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has llama-cpp-python")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--tandem-options", default="", help="further options of `tandem bench`, as one word")
    parser.add_argument("--prefill", default="512")
    parser.add_argument("--decode", default="1@32,32@128,32@4096,8@4096")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--flash", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    options.tandem_options = options.tandem_options.split()
    for index, row in enumerate(parse_rows(options)):
        show(options, compare(options, row), index == 0)


main()
