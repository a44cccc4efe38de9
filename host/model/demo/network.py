# SPDX-License-Identifier: Apache-2.0
"""The Llama-architecture network and its AdamW step in JAX, float32 on the CPU.

Weights are [in, out]. Inside, rotary pairs are (i, i + head_dim / 2); the export reorders rows to
the (2i, 2i + 1) pairs of GGUF's llama architecture. Cost: about 6 * parameters FLOPs a token.
"""
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass(frozen=True)
class Shape:
    vocab: int = 2048
    width: int = 256
    layers: int = 5
    heads: int = 8
    kv_heads: int = 4
    ffn: int = 640
    context: int = 512
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5

    @property
    def head_dim(self):
        return self.width // self.heads


def init_weights(shape, seed):
    rng = np.random.default_rng(seed)

    def normal(rows, cols, scale=0.02):
        return jnp.asarray(rng.normal(0.0, scale, (rows, cols)).astype(np.float32))

    kv_width = shape.kv_heads * shape.head_dim
    out_scale = 0.02 / np.sqrt(2 * shape.layers)
    layers = [{
        "attn_norm": jnp.ones(shape.width), "ffn_norm": jnp.ones(shape.width),
        "attn_q": normal(shape.width, shape.width, 0.04),
        "attn_k": normal(shape.width, kv_width, 0.04),
        "attn_v": normal(shape.width, kv_width, 0.04),
        "attn_output": normal(shape.width, shape.width, out_scale),
        "ffn_gate": normal(shape.width, shape.ffn, 0.04),
        "ffn_up": normal(shape.width, shape.ffn, 0.04),
        "ffn_down": normal(shape.ffn, shape.width, out_scale),
    } for _ in range(shape.layers)]
    return {"token_embd": normal(shape.vocab, shape.width), "output_norm": jnp.ones(shape.width),
            "layers": layers}


def rms_norm(x, weight, epsilon):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def rotate(x, cos, sin):  # x [batch, tokens, heads, head_dim]; cos, sin [tokens, 1, head_dim / 2]
    low, high = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([low * cos - high * sin, low * sin + high * cos], axis=-1)


def attention(layer, x, rope, shape):
    """Causal, in blocks of queries: a block reads only the keys up to its own end, which saves
    almost half of the scores."""
    batch, tokens, _ = x.shape
    group, block = shape.heads // shape.kv_heads, min(64, tokens)

    def heads_of(matrix, heads):
        return (x @ matrix).reshape(batch, tokens, heads, shape.head_dim)

    q = rotate(heads_of(layer["attn_q"], shape.heads), *rope) * shape.head_dim ** -0.5
    q = q.transpose(0, 2, 1, 3)
    k = rotate(heads_of(layer["attn_k"], shape.kv_heads), *rope).transpose(0, 2, 1, 3)
    v = heads_of(layer["attn_v"], shape.kv_heads).transpose(0, 2, 1, 3)
    mixed = []
    for start in range(0, tokens, block):
        end = start + block
        grouped = q[:, :, start:end].reshape(batch, shape.kv_heads, group * block, shape.head_dim)
        scores = jnp.einsum("bkqd,bktd->bkqt", grouped, k[:, :, :end])
        future = np.where(np.arange(end) <= np.arange(start, end)[:, None], 0.0, -1e9)
        scores = scores.reshape(batch, shape.heads, block, end) + future.astype(np.float32)
        odds = jnp.exp(scores - jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True)))
        grouped = odds.reshape(batch, shape.kv_heads, group * block, end)
        sums = jnp.einsum("bkqt,bktd->bkqd", grouped, v[:, :, :end])
        mixed.append(sums.reshape(batch, shape.heads, block, shape.head_dim)
                     / odds.sum(axis=-1, keepdims=True))
    mixed = jnp.concatenate(mixed, axis=2).transpose(0, 2, 1, 3)
    return mixed.reshape(batch, tokens, shape.width) @ layer["attn_output"]


def logits_of(weights, tokens, shape, keep=1.0, key=None):
    """tokens [batch, tokens] -> logits [batch, tokens, vocab]. Dropout takes whole channels of a
    document, one draw for all its tokens: nearly free beside one draw a token."""
    length = tokens.shape[1]
    steps = shape.rope_base ** (-np.arange(0, shape.head_dim, 2) / shape.head_dim)
    angles = np.outer(np.arange(length), steps)[:, None].astype(np.float32)
    rope = np.cos(angles), np.sin(angles)

    def drop(x, salt):
        if key is None:
            return x
        drawn = jax.random.bernoulli(jax.random.fold_in(key, salt), keep, (x.shape[0], 1, x.shape[2]))
        return x * (drawn / keep)

    x = drop(weights["token_embd"][tokens], 0)
    for index, layer in enumerate(weights["layers"]):
        normed = rms_norm(x, layer["attn_norm"], shape.norm_epsilon)
        x = x + drop(attention(layer, normed, rope, shape), 2 * index + 1)
        normed = rms_norm(x, layer["ffn_norm"], shape.norm_epsilon)
        hidden = jax.nn.silu(normed @ layer["ffn_gate"]) * (normed @ layer["ffn_up"])
        x = x + drop(hidden @ layer["ffn_down"], 2 * index + 2)
    return rms_norm(x, weights["output_norm"], shape.norm_epsilon) @ weights["token_embd"].T


def mean_loss(weights, batch, shape, keep=1.0, key=None):
    """batch = tokens, loss weights, each [rows, tokens + 1], one document a row."""
    tokens, counted = batch
    logits = logits_of(weights, tokens[:, :-1], shape, keep, key)
    target = jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1)[..., 0]
    losses = jax.scipy.special.logsumexp(logits, axis=-1) - target
    return jnp.sum(losses * counted[:, 1:]) / jnp.maximum(jnp.sum(counted[:, 1:]), 1.0)


def make_train_step(shape, weight_decay, keep):
    """step(state, batch, count, rate, key) -> state, loss; state = weights and AdamW's two moments."""
    beta1, beta2, clip = 0.9, 0.98, 1.0

    def step(state, batch, count, rate, key):
        weights, first, second = state
        loss, grads = jax.value_and_grad(mean_loss)(weights, batch, shape, keep, key)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, clip / norm), grads)
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, grads)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, grads)

        def moved(w, m, v):
            update = (m / (1 - beta1 ** count)) / (jnp.sqrt(v / (1 - beta2 ** count)) + 1e-8)
            decay = weight_decay if w.ndim == 2 else 0.0
            return w - rate * (update + decay * w)

        return (jax.tree.map(moved, weights, first, second), first, second), loss

    return jax.jit(step, donate_argnums=0)
