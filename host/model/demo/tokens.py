# SPDX-License-Identifier: Apache-2.0
"""Writes what train.py learns from as token ids, for `tandem train`.

    python3 tokens.py --corpus corpus.txt --out stories.u16

Stories and requests as train.py draws them, pass after pass. 32 stories are kept aside; `--valid` writes them as text.
"""
import argparse
import random

import numpy as np

import stories
import tokenizer

HELD_OUT = 32
SEED = 7


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--valid", default="")
    parser.add_argument("--passes", type=int, default=22)
    options = parser.parse_args()
    with open(options.corpus, encoding="utf-8") as file:
        all_stories = stories.split_stories(file.read())
    random.Random(SEED).shuffle(all_stories)
    held_out, training = all_stories[:HELD_OUT], all_stories[HELD_OUT:]
    processor = tokenizer.train_tokenizer(training)
    ranks = stories.noun_ranks(training)
    ids = []
    for each in range(options.passes):
        rng = random.Random(SEED * 1000 + each)
        for document in stories.epoch_documents(training, ranks, rng):
            ids += tokenizer.encode_document(processor, document)[0]
    np.array(ids, dtype="<u2").tofile(options.out)
    if options.valid:
        with open(options.valid, "w", encoding="utf-8") as file:
            file.write("\n".join(held_out))
    print(f"{len(training)} stories, {options.passes} passes, {len(ids)} tokens")


if __name__ == "__main__":
    main()
