# SPDX-License-Identifier: Apache-2.0
"""Writes the gradients that data-parallel ranks would exchange: the trained model, a batch a rank.

    python3 capture_gradients.py --model tandem-stories-q8_0.gguf --corpus corpus.txt --ranks 8 --out folder
    python3 capture_gradients.py --model small.gguf --corpus corpus.txt --ranks 4 --steps 220 --from-scratch --out folder

folder/gradient-<rank>.f32 holds the gradients of all tensors end to end, raw little-endian float32;
folder/tensors.json their names, shapes and offsets, in values. Each rank reads other stories.
`tandem allreduce-bench --pattern top-k --gradients folder` keeps the largest of them and reduces.
With --steps the model trains (Adam, on the mean of all ranks) and every step is written:
gradient-<step * ranks + rank>.f32, and recording.json with the two numbers.
`tandem sparsify-bench --gradients folder` then gives every rank its own, step by step.
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import gguf
import jax
import numpy as np

import network
import stories


def separate_rope_rows(matrix, heads):
    """The inverse of export.interleave_rope_rows."""
    rows, cols = matrix.shape
    return matrix.reshape(heads, rows // heads // 2, 2, cols).swapaxes(1, 2).reshape(rows, cols)


def load(path):
    """GGUF -> shape, weights as network.init_weights makes them, tokens of the vocabulary."""
    reader = gguf.GGUFReader(path)

    def field(name):
        return reader.fields["llama." + name].contents()

    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    shape = network.Shape(vocab=len(tokens), width=field("embedding_length"), layers=field("block_count"),
                          heads=field("attention.head_count"), kv_heads=field("attention.head_count_kv"),
                          ffn=field("feed_forward_length"), context=field("context_length"))
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
               for t in reader.tensors}
    weights = {"token_embd": tensors["token_embd.weight"], "output_norm": tensors["output_norm.weight"],
               "layers": [{} for _ in range(shape.layers)]}
    for index, layer in enumerate(weights["layers"]):
        prefix = f"blk.{index}."
        for name in [n for n in tensors if n.startswith(prefix)]:
            short = name.removeprefix(prefix).removesuffix(".weight")
            tensor = tensors[name]
            if short in ("attn_q", "attn_k"):
                tensor = separate_rope_rows(tensor, shape.heads if short == "attn_q" else shape.kv_heads)
            layer[short] = tensor.T if tensor.ndim == 2 else tensor
    return shape, weights, tokens


def encode(text, pieces, longest):
    """Greedy longest pieces: gradients need plausible tokens, not the exact tokenizer."""
    ids, at = [1], 0
    text = "\u2581" + text.replace(" ", "\u2581")
    while at < len(text):
        for length in range(min(longest, len(text) - at), 0, -1):
            if text[at:at + length] in pieces:
                ids.append(pieces[text[at:at + length]])
                at += length
                break
        else:
            at += 1
    return ids


def batch_of(texts, pieces, tokens_per_row):
    longest = max(map(len, pieces))
    rows = np.zeros((len(texts), tokens_per_row + 1), np.int32)
    counted = np.zeros(rows.shape, np.float32)
    for row, text in enumerate(texts):
        ids = encode(text, pieces, longest)[:tokens_per_row + 1]
        rows[row, :len(ids)] = ids
        counted[row, :len(ids)] = 1.0
    return rows, counted


def adam(weights, first, second, grads, count, rate):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, second, grads)

    def moved(w, m, v):
        return w - rate * (m / (1 - 0.9 ** count)) / (jax.numpy.sqrt(v / (1 - 0.98 ** count)) + 1e-8)

    return jax.tree.map(moved, weights, first, second), first, second


def write_rank(folder, rank, grads):
    leaves = jax.tree_util.tree_flatten_with_path(grads)[0]
    layout, offset = [], 0
    with open(folder / f"gradient-{rank}.f32", "wb") as out:
        for path, leaf in leaves:
            leaf = np.asarray(leaf, np.float32)
            layout.append({"name": jax.tree_util.keystr(path), "shape": leaf.shape, "offset": offset})
            out.write(leaf.tobytes())
            offset += leaf.size
    return layout, offset


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--stories", type=int, default=4, help="a rank")
    parser.add_argument("--tokens", type=int, default=128, help="a story, at most; a multiple of 64")
    parser.add_argument("--steps", type=int, default=1, help="more than 1: the model trains between them")
    parser.add_argument("--rate", type=float, default=2e-3, help="of Adam")
    parser.add_argument("--from-scratch", action="store_true", help="the model's shape, with new weights")
    options = parser.parse_args()
    if options.tokens % 64:
        parser.error("--tokens must be a multiple of 64")
    shape, weights, tokens = load(options.model)
    if options.from_scratch:
        weights = network.init_weights(shape, 7)
    pieces = {token: i for i, token in enumerate(tokens) if i > 261}
    texts = stories.split_stories(pathlib.Path(options.corpus).read_text())
    if len(texts) < options.ranks * options.stories:
        parser.error(f"the corpus has {len(texts)} stories; lower --ranks or --stories")
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    record(folder, weights, texts, pieces, shape, options)


def record(folder, weights, texts, pieces, shape, options):
    gradient = jax.jit(jax.value_and_grad(lambda w, b: network.mean_loss(w, b, shape)))
    update = jax.jit(adam)
    first, second = jax.tree.map(jax.numpy.zeros_like, weights), jax.tree.map(jax.numpy.zeros_like, weights)
    for step in range(options.steps):
        total = None
        for rank in range(options.ranks):
            number = step * options.ranks + rank
            mine = [texts[(number * options.stories + i) % len(texts)] for i in range(options.stories)]
            loss, grads = gradient(weights, batch_of(mine, pieces, options.tokens))
            layout, size = write_rank(folder, number, grads)
            total = grads if total is None else jax.tree.map(lambda a, b: a + b, total, grads)
            if step % 20 == 0:
                print(f"step {step} rank {rank}: loss {float(loss):.3f} nats, {size} values", flush=True)
        if options.steps > 1:
            mean = jax.tree.map(lambda g: g / options.ranks, total)
            weights, first, second = update(weights, first, second, mean, float(step + 1), options.rate)
    (folder / "tensors.json").write_text(json.dumps(layout, indent=1) + "\n")
    if options.steps > 1:
        (folder / "recording.json").write_text(json.dumps({"ranks": options.ranks, "steps": options.steps}) + "\n")


if __name__ == "__main__":
    main()
