# SPDX-License-Identifier: Apache-2.0
"""PyTorch's attention on the shapes of prefill_bench.cpp: the figures that its own are ratios to.

Every backend that PyTorch has (its FlashAttention, cuDNN) is timed on bf16 tensors of its own; the
best median counts. Run on the same card right before or after bench_gpu_prefill. One JSON line per
shape; exits with 77 where there is no PyTorch or no GPU.
"""

import json
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)

Q_HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
WARM, SAMPLES = 6, 50


def time_ms(work):
    samples = []
    for run in range(-WARM, SAMPLES):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        stop.synchronize()
        if run >= 0:
            samples.append(start.elapsed_time(stop))
    return sorted(samples)


def attend(backend, batch, rows, tokens, causal):
    q = torch.randn(batch, Q_HEADS, rows, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(batch, KV_HEADS, tokens, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    call = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(backend):
        return time_ms(lambda: call(q, k, v, is_causal=causal, enable_gqa=True))


def main():
    if not torch.cuda.is_available():
        print("there is no GPU")
        return 77
    shapes = [("causal_1x8192", 1, 8192, 8192, True), ("causal_4x2048", 4, 2048, 2048, True),
              ("causal_32x512", 32, 512, 512, True), ("paged_16x256_over_4096", 16, 256, 4096, False)]
    for name, batch, rows, tokens, causal in shapes:
        times = {}
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            try:
                times[backend.name] = attend(backend, batch, rows, tokens, causal)
            except RuntimeError:  # the backend does not take the shape
                continue
        if not times:
            print(f"no backend takes {name}")
            continue
        best = min(times, key=lambda backend: times[backend][SAMPLES // 2])
        samples = times[best]
        pairs = batch * (rows * (rows + 1) / 2 if causal else rows * tokens)
        flops = 4 * HEAD_DIM * Q_HEADS * pairs
        print(json.dumps({
            "name": f"torch_prefill/{name}_bf16", "median": samples[SAMPLES // 2],
            "p10": samples[SAMPLES // 10], "p90": samples[SAMPLES * 9 // 10], "unit": "ms",
            "samples": SAMPLES, "flops": flops,
            "TFLOP_per_s": round(flops / samples[SAMPLES // 2] / 1e9, 1), "backend": best,
            "device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
