# SPDX-License-Identifier: Apache-2.0
"""Compares models by stories that none of them has learned from.

    python3 held_out.py --stories held-out.txt OLD.gguf NEW.gguf

Every story is scored alone, as `tandem perplexity` does it; the figures are of all tokens. The models need one tokenizer.
Then every model is asked for stories about 18 animals, greedily; an answer that names the animal counts.
"""
import argparse
import json
import math
import pathlib
import subprocess
import tempfile

import stories

TREE = pathlib.Path(__file__).resolve().parents[3]


def score(tandem, model, text):
    """Tokens of a story, and the sum of their negative log-likelihoods."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        found = subprocess.run([tandem, "perplexity", "--model", model, "--file", file.name, "--json", "--no-lists"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    figures = json.loads(found.stdout)
    return figures["tokens_scored"], figures["tokens_scored"] * figures["mean_nll"]


def names(tandem, model, animal):
    """Whether the answer to a request has the animal that was asked for."""
    found = subprocess.run([tandem, "generate", "--model", model, "--chat", "--prompt", f"Tell me a story about a {animal}.",
                            "--max-tokens", "150"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return animal in found.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--stories", required=True, help="as tokens.py --valid writes them")
    parser.add_argument("--tandem", default=str(TREE / "build" / "release" / "bin" / "tandem"))
    options = parser.parse_args()
    texts = stories.split_stories(pathlib.Path(options.stories).read_text(encoding="utf-8"))
    for model in options.models:
        scores = [score(options.tandem, model, text) for text in texts]
        tokens = sum(count for count, _ in scores)
        mean = sum(total for _, total in scores) / tokens
        named = sum(names(options.tandem, model, animal) for animal in stories.ANIMALS)
        print(f"{model}: {len(texts)} stories, {tokens} tokens, {mean:.4f} nats per token, perplexity {math.exp(mean):.2f}, "
              f"{named} of {len(stories.ANIMALS)} answers name their animal", flush=True)


if __name__ == "__main__":
    main()
