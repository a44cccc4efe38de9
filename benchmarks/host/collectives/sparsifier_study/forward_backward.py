# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of Llama-like models of the study's sizes in JAX: processor time on one core, median of 3.

    python3 benchmarks/host/collectives/sparsifier_study/forward_backward.py [MODEL...] [--json]

Needs host/model/demo/requirements.txt.
"""
import json
import os
import pathlib
import sys
import time

os.environ.update(XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", JAX_PLATFORMS="cpu", OMP_NUM_THREADS="1", NPROC="1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "host" / "model" / "demo"))

import jax
import numpy as np

import network

SHAPES = {"demo": network.Shape(),
          "resnet50": network.Shape(vocab=8192, width=512, layers=6, heads=8, kv_heads=8, ffn=1536),
          "bert": network.Shape(vocab=30522, width=768, layers=12, heads=12, kv_heads=12, ffn=2048)}
ROWS, TOKENS = 4, 128


def measure(shape):
    weights = network.init_weights(shape, 1)
    tokens = np.random.default_rng(1).integers(5, shape.vocab, (ROWS, TOKENS + 1)).astype(np.int32)
    batch = tokens, np.ones(tokens.shape, np.float32)
    gradient = jax.jit(jax.value_and_grad(lambda w, b: network.mean_loss(w, b, shape)))
    jax.block_until_ready(gradient(weights, batch))
    times = []
    for _ in range(3):
        begin = time.process_time()
        jax.block_until_ready(gradient(weights, batch))
        times.append(time.process_time() - begin)
    return sum(w.size for w in jax.tree.leaves(weights)), sorted(times)[1] * 1e3


chosen = [name for name in sys.argv[1:] if name != "--json"] or list(SHAPES)
for name in chosen:
    parameters, milliseconds = measure(SHAPES[name])
    if "--json" in sys.argv:
        print(json.dumps({"name": name, "parameters": parameters, "rows": ROWS, "tokens": TOKENS, "ms": milliseconds}), flush=True)
    else:
        print(f"{name}: {parameters:,} parameters, {milliseconds:.0f} ms", flush=True)
