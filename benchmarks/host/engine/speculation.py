#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What guessed tokens gain: decode speed with --draft over that without, in turns.

  speculation.py --program build/release/bin/tandem --random-model build/release/bin/tandem-random-model --folder DIR

Loads: `copying`, an answer that repeats itself (a model with random weights does, greedily); `misleading`, an answer of
few tokens that seem to repeat and do not; `strange`, a draft model that knows nothing of the model that it drafts for.
Each sample runs without, with, without; its ratio is that of the run with guesses to the mean of the two beside it.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

SHAPE = ["--layers", "12", "--width", "1024", "--q-heads", "16", "--kv-heads", "8", "--ffn", "4096"]
SMALL = ["--layers", "1", "--width", "256", "--q-heads", "4", "--kv-heads", "2", "--ffn", "512"]
TOKENS = 200


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder)

    def model(self, name, shape, vocab):
        path = self.folder / f"{name}.gguf"
        if not path.exists():
            subprocess.run([self.options.random_model, path, *shape, "--vocab", str(vocab)], check=True)
        return str(path)

    def run(self, model, arguments):
        command = [self.options.program, "generate", "--model", model, "--prompt", "hello " * 5, "--json",
                   "--max-tokens", str(TOKENS), "--ignore-eos", *arguments]
        answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        share = answer["accepted_draft_tokens"] / max(1, answer["draft_tokens"])
        return TOKENS / answer["seconds"]["decode"], share

    def sample(self, model, arguments, draft):
        before, _ = self.run(model, arguments)
        guessing, share = self.run(model, [*arguments, "--draft", draft])
        behind, _ = self.run(model, arguments)
        return 2 * guessing / (before + behind), share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--random-model", required=True)
    parser.add_argument("--folder", required=True, help="where models with random weights are kept")
    parser.add_argument("--samples", type=int, default=30)
    options = parser.parse_args()
    bench = Bench(options)
    large = bench.model("large", SHAPE, 32000)
    misleading = bench.model("few-tokens", SHAPE, 320)
    strange = bench.model("strange", SMALL, 32000)
    loads = {"copying": (large, ["--temperature", "0"], "lookup"),
             "misleading": (misleading, ["--temperature", "20", "--top-k", "3"], "lookup"),
             "strange": (large, ["--temperature", "1"], strange)}
    print("| load | ratio, median | quartiles | accepted |\n|---|---|---|---|")
    for name, (model, arguments, draft) in loads.items():
        samples = [bench.sample(model, [*arguments, "--seed", str(i)], draft) for i in range(options.samples)]
        ratios = [ratio for ratio, _ in samples]
        low, middle, high = statistics.quantiles(ratios, n=4)
        accepted = statistics.mean(share for _, share in samples)
        print(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {100 * accepted:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
