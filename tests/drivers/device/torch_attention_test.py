# SPDX-License-Identifier: Apache-2.0
"""Attention units against PyTorch's attention in float32, an implementation that shares nothing with ours.

    python3 torch_attention_test.py PROGRAM DEVICE

PROGRAM is attention_case. Keys and values are rounded to the pages' type first, by PyTorch; O must then agree to NMSE 1e-9,
and the LSE to 1e-4. With a second interpreter's PyTorch: TANDEM_TORCH_PYTHON. Exit code 77 without PyTorch or the device.
"""

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
except ImportError:
    other = os.environ.get("TANDEM_TORCH_PYTHON")
    if other:
        sys.exit(subprocess.run([other, "-B", *sys.argv], env={**os.environ, "TANDEM_TORCH_PYTHON": ""}).returncode)
    print("no PyTorch here; name an interpreter that has it with TANDEM_TORCH_PYTHON")
    sys.exit(77)

TYPES = {"f16": 0, "bf16": 1}
# q_heads, kv_heads, head_dim, page_tokens, kv_type, tokens of the sequences, q_rows, pieces, softcap
CASES = [
    (8, 1, 128, 16, "f16", [1, 17, 300], 1, 3, 0.0),
    (8, 8, 64, 32, "f16", [5, 64, 65], 1, 2, 0.0),
    (16, 4, 80, 16, "bf16", [40, 129], 3, 2, 0.0),
    (4, 2, 96, 64, "f16", [200], 8, 1, 30.0),
    (6, 2, 256, 16, "bf16", [33, 2], 1, 2, 0.0),
    (4, 2, 64, 16, "f16", [150, 20], 40, 2, 0.0),
]


def reference(q, k, v, scale, softcap):
    """[rows, q_heads, dim], [tokens, kv_heads, dim] -> O and LSE, by PyTorch's own operation where it has one."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1).transpose(0, 1) for x in (k, v))
    q = q.transpose(0, 1)
    scores = q @ k.transpose(1, 2) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
        o = torch.softmax(scores, -1) @ v
    else:
        o = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0]
    return o.transpose(0, 1), torch.logsumexp(scores, -1).transpose(0, 1)


def run_case(program, device, case, directory):
    q_heads, kv_heads, dim, page_tokens, kv_type, tokens, q_rows, pieces, softcap = case
    scale = 1 / math.sqrt(dim)
    q = torch.randn(len(tokens), q_rows, q_heads, dim)
    k, v = (torch.randn(sum(tokens), kv_heads, dim) for _ in range(2))
    paths = [str(Path(directory) / name) for name in ("in", "out")]
    with open(paths[0], "wb") as file:
        head = [len(tokens), q_rows, q_heads, kv_heads, dim, page_tokens, TYPES[kv_type], pieces]
        for values, dtype in ((head, torch.int32), ([scale, softcap], torch.float32), (tokens, torch.int32)):
            file.write(torch.tensor(values, dtype=dtype).numpy().tobytes())
        for values in (q, k, v):
            file.write(values.numpy().tobytes())
    done = subprocess.run([program, device, *paths], capture_output=True, text=True)
    if done.returncode != 0:
        print((done.stdout + done.stderr).strip())
        sys.exit(77 if done.returncode == 77 else 1)
    got = torch.frombuffer(bytearray(Path(paths[1]).read_bytes()), dtype=torch.float32)
    o, lse = got[:q.numel()].view(q.shape), got[q.numel():].view(q.shape[:3])
    rounded = {"f16": torch.float16, "bf16": torch.bfloat16}[kv_type]
    k, v = (x.to(rounded).to(torch.float32) for x in (k, v))
    begin = 0
    for i, count in enumerate(tokens):
        want_o, want_lse = reference(q[i], k[begin:begin + count], v[begin:begin + count], scale, softcap)
        begin += count
        error = ((o[i] - want_o) ** 2).sum() / (want_o ** 2).sum()
        off = (lse[i] - want_lse).abs().max()
        print(f"{device} {case}: sequence {i}: NMSE {error:.1e}, LSE off by {off:.1e}")
        # not <=, so that NaN fails
        if not error < 1e-9 or not off < 1e-4:
            sys.exit(f"{device}: sequence {i} of {case} differs")


def main():
    program, device = sys.argv[1:]
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    print("seed", torch.initial_seed())
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            if device.startswith(("xrt", "opencl")) and (case[4] != "f16" or case[8]):
                continue  # what these units say that they do not do
            run_case(program, device, case, directory)


main()
