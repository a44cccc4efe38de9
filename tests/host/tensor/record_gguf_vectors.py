# SPDX-License-Identifier: Apache-2.0
"""Records what an independent reader makes of quantised blocks: gguf_vectors.json beside this file.

    pip install gguf numpy && python tests/host/tensor/record_gguf_vectors.py

Two blocks per type of random bytes (so that every bit field takes many values), except that f16
scales are finite and of ordinary size, negative ones included. Values are stored as the bytes of
little-endian f32, in hexadecimal. The reader is the PyPI package gguf (written with NumPy).
"""

import json
import pathlib

import gguf
import numpy as np

BLOCKS = 2
# Type: offsets of its f16 members in a block.
F16_MEMBERS = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "IQ4_NL": [0],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}


def record(name: str, random: np.random.Generator) -> dict:
    kind = gguf.GGMLQuantizationType[name]
    block_values, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (BLOCKS, block_bytes), dtype=np.uint8)
    for at in F16_MEMBERS[name]:
        scales = random.normal(0, 0.05, (BLOCKS, 1)).astype("<f2")
        blocks[:, at : at + 2] = scales.view(np.uint8)
    values = gguf.dequantize(blocks.reshape(1, -1), kind).astype("<f4").ravel()
    assert values.size == BLOCKS * block_values and np.isfinite(values).all()
    return {"id": int(kind), "blocks": blocks.tobytes().hex(), "values": values.tobytes().hex()}


def main() -> None:
    random = np.random.default_rng(20240607)
    types = {name.lower(): record(name, random) for name in F16_MEMBERS}
    target = pathlib.Path(__file__).with_name("gguf_vectors.json")
    target.write_text(json.dumps({"block_count": BLOCKS, "types": types}, indent=1) + "\n")


if __name__ == "__main__":
    main()
