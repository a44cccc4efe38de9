# SPDX-License-Identifier: Apache-2.0
"""Trains the demonstration model on one CPU core and exports it as GGUF.

    python3 train.py --corpus corpus.txt --out tandem-stories-q8_0.gguf

Deterministic for a given corpus, seed and machine. `--checkpoint` keeps the state between runs.
"""
import argparse
import math
import os
import pickle
import random
import time

# One thread, and the same order of additions, whatever the machine has.
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np

import network
import stories
import tokenizer
from export import export_gguf

HELD_OUT = 32


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=2900)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--checkpoint", default="")
    return parser.parse_args()


def learning_rate(step, options):
    warmup = min(100, options.steps // 10 + 1)
    if step < warmup:
        return options.rate * (step + 1) / warmup
    done = (step - warmup) / max(1, options.steps - warmup)
    return options.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def batches(processor, training, options):
    """Batch after batch, for ever; each epoch draws its own requests, names and batches."""
    ranks = stories.noun_ranks(training)
    epoch = 0
    while True:
        rng = random.Random(options.seed * 1000 + epoch)
        documents = [tokenizer.encode_document(processor, d)
                     for d in stories.epoch_documents(training, ranks, rng)]
        drawn = tokenizer.batch_by_length(documents, options.batch_tokens)
        rng.shuffle(drawn)
        for batch in drawn:
            yield epoch, batch
        epoch += 1


def held_out_loss(processor, held_out, weights, shape, evaluate):
    """Loss per token on plain stories that were never trained on."""
    plain = [[stories.Fragment("bos"), stories.Fragment("text", s), stories.Fragment("eos")] for s in held_out]
    encoded = [tokenizer.encode_document(processor, d) for d in plain]
    total = tokens = 0.0
    for document in encoded:
        if len(document[0]) > shape.context + 1:
            continue
        batch = tokenizer.pad_rows([document], shape.context)
        count = float(batch[1][:, 1:].sum())
        total += float(evaluate(weights, batch)) * count
        tokens += count
    return total / tokens


def load_state(options, shape):
    if options.checkpoint and os.path.exists(options.checkpoint):
        with open(options.checkpoint, "rb") as file:
            return jax.tree.map(jnp.asarray, pickle.load(file))
    weights = network.init_weights(shape, options.seed)
    return {"step": 0, "weights": weights, "first": jax.tree.map(jnp.zeros_like, weights),
            "second": jax.tree.map(jnp.zeros_like, weights)}


def save_state(options, state):
    if options.checkpoint:
        with open(options.checkpoint + ".partial", "wb") as file:
            pickle.dump(jax.tree.map(np.asarray, state), file)
        os.replace(options.checkpoint + ".partial", options.checkpoint)


def main():
    options = parse_options()
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")
    with open(options.corpus, encoding="utf-8") as file:
        all_stories = stories.split_stories(file.read())
    random.Random(options.seed).shuffle(all_stories)
    held_out, training = all_stories[:HELD_OUT], all_stories[HELD_OUT:]
    processor = tokenizer.train_tokenizer(training)
    shape = network.Shape()
    state = load_state(options, shape)
    parameters = sum(w.size for w in jax.tree.leaves(state["weights"]))
    print(f"{len(training)} stories, {len(held_out)} held out, {parameters} parameters", flush=True)

    train_step = network.make_train_step(shape, options.weight_decay, 1.0 - options.dropout)
    evaluate = jax.jit(lambda w, batch: network.mean_loss(w, batch, shape))
    key = jax.random.key(options.seed)
    feed, begin, recent = batches(processor, training, options), time.time(), []
    moving, done = (state["weights"], state["first"], state["second"]), int(state["step"])
    for step in range(options.steps):
        epoch, batch = next(feed)
        if step < done:
            continue
        moving, loss = train_step(
            moving, batch, jnp.float32(step + 1),
            jnp.float32(learning_rate(step, options)), jax.random.fold_in(key, step))
        recent.append(float(loss))
        if (step + 1) % 50 == 0 or step + 1 == options.steps:
            print(f"step {step + 1} epoch {epoch} loss {np.mean(recent):.4f} "
                  f"seconds {time.time() - begin:.0f}", flush=True)
            recent = []
        if (step + 1) % 250 == 0 or step + 1 == options.steps:
            print(f"held-out loss {held_out_loss(processor, held_out, moving[0], shape, evaluate):.4f}", flush=True)
            save_state(options, dict(zip(("weights", "first", "second"), moving), step=step + 1))
    export_gguf(options.out, moving[0], processor, shape)


if __name__ == "__main__":
    main()
