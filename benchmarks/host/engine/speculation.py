#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What guessed tokens gain: decode speed with --draft over that without, in turns.

  speculation.py --program build/release/bin/tandem --random-model build/release/bin/tandem-random-model --folder DIR

Loads: `copying`, an answer that repeats itself (a model with random weights does, greedily); `misleading`, an answer of
few tokens that seem to repeat and do not; `strange`, a draft model that knows nothing of the model that it drafts for.
Runs with and without guesses alternate; a sample is a run with guesses over the mean of the two beside it. A load ends
with its samples, or after a third of --seconds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from progress import Progress

SHAPE = ["--layers", "12", "--width", "1024", "--q-heads", "16", "--kv-heads", "8", "--ffn", "4096"]
SMALL = ["--layers", "1", "--width", "256", "--q-heads", "4", "--kv-heads", "2", "--ffn", "512"]
LEAST_SAMPLES = 3


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def model(self, name, shape, vocab):
        path = self.folder / f"{name}.gguf"
        if not path.exists():
            subprocess.run([self.options.random_model, path, *shape, "--vocab", str(vocab)], check=True)
        return str(path)

    def run(self, model, arguments):
        tokens = self.options.tokens
        command = [self.options.program, "generate", "--model", model, "--prompt", "hello " * 5, "--json",
                   "--max-tokens", str(tokens), "--ignore-eos", "--attention", "cpu", *arguments]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}:\n{answer.stderr.strip()}")
        answer = json.loads(answer.stdout)
        share = answer["accepted_draft_tokens"] / max(1, answer["draft_tokens"])
        return tokens / answer["seconds"]["decode"], share

    def load(self, name, model, arguments, draft):
        """Ratios, and accepted shares."""
        progress = Progress(f"speculation, {name}", self.options.samples, self.options.seconds / 3)
        ratios, shares = [], []
        before, _ = self.run(model, [*arguments, "--seed", "0"])
        while progress.done < self.options.samples and (progress.done < LEAST_SAMPLES or not progress.is_over()):
            seeded = [*arguments, "--seed", str(progress.done)]
            guessing, share = self.run(model, [*seeded, "--draft", draft])
            behind, _ = self.run(model, seeded)
            ratios.append(2 * guessing / (before + behind))
            shares.append(share)
            before = behind
            progress.step(f"{statistics.median(ratios):.2f}x")
        progress.end()
        return ratios, shares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--random-model", required=True)
    parser.add_argument("--folder", required=True, help="where models with random weights are kept")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--json", action="store_true", help="a line of JSON per load in place of the table")
    options = parser.parse_args()
    bench = Bench(options)
    large = bench.model("large", SHAPE, 32000)
    misleading = bench.model("few-tokens", SHAPE, 320)
    strange = bench.model("strange", SMALL, 32000)
    loads = {"copying": (large, ["--temperature", "0"], "lookup"),
             "misleading": (misleading, ["--temperature", "20", "--top-k", "3"], "lookup"),
             "strange": (large, ["--temperature", "1"], strange)}
    if not options.json:
        print("| load | ratio, median | quartiles | samples | accepted |\n|---|---|---|---|---|")
    for name, load in loads.items():
        ratios, shares = bench.load(name, *load)
        low, middle, high = statistics.quantiles(ratios, n=4)
        accepted = statistics.mean(shares)
        if options.json:
            print(json.dumps({"name": name, "ratio": middle, "low": low, "high": high, "samples": len(ratios),
                              "accepted": accepted}), flush=True)
        else:
            print(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {len(ratios)} | {100 * accepted:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
