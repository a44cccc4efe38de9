# SPDX-License-Identifier: Apache-2.0
"""PyTorch's best on the shapes of the GPU benchmarks: the figures that theirs are ratios to.

    python3 benchmarks/gpu/torch_peer.py [decode] [prefill] [step]     # all without names
    python3 benchmarks/gpu/torch_peer.py --check                       # small shapes, also without a GPU

decode    every backend of scaled_dot_product_attention, grouped heads as rows of queries and as grouped heads,
          on contiguous keys and values (ours are paged); the best median counts
prefill   every backend, bf16
          both as replays of CUDA graphs of several launches each, as ours are timed, so that no time of the host counts
step      a decode step of a Llama-3-8B-shaped bf16 model with random weights and a static cache, as a CUDA graph

Names are those of bench_gpu_attention, bench_gpu_prefill and `tandem bench`, with torch_ in front of the group. Run on the
same card right before or after them. One JSON line per figure; exit code 77 where there is no PyTorch or no GPU.
"""

import argparse
import json
import sys

try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)

WARM, SAMPLES = 6, 50
LAUNCHES = 12  # of a graph; a multiple of the sets of inputs
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


def graph_of(work, launches):
    """A replay of work(0) .. work(launches - 1)."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(3):
            work(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            work(i)
    return graph.replay


class Bench:
    def __init__(self, check):
        self.check = check
        self.device = "cpu" if check else "cuda"

    def randn(self, *shape, dtype=torch.bfloat16):
        return torch.randn(*shape, device=self.device, dtype=dtype)

    def time_ms(self, work, launches):
        """Per launch, ascending. work(i) takes inputs in turns, so that none is found in the cache."""
        if self.check:
            return [float(work(run) is None) for run in range(2)]
        replay = graph_of(work, launches)
        samples = []
        for run in range(-WARM, SAMPLES):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            replay()
            stop.record()
            stop.synchronize()
            if run >= 0:
                samples.append(start.elapsed_time(stop) / launches)
        return sorted(samples)

    def best(self, variants, launches=LAUNCHES):
        """variants: {name: work}. What a variant does not take is left out, so is what cannot be captured."""
        times = {}
        for name, work in variants.items():
            try:
                times[name] = self.time_ms(work, launches)
            except RuntimeError:  # the backend does not take the shape
                continue
        name = min(times, key=lambda variant: times[variant][len(times[variant]) // 2], default=None)
        return name, times.get(name)

    def report(self, name, found, **more):
        variant, samples = found
        if samples is None:
            print(json.dumps({"name": name, "error": "no backend takes it"}), flush=True)
            return
        device = "none" if self.check else torch.cuda.get_device_name()
        middle = len(samples) // 2
        print(json.dumps({"name": name, "median": samples[middle], "p10": samples[len(samples) // 10],
                          "p90": samples[len(samples) * 9 // 10], "unit": "ms", "samples": len(samples), **more,
                          "variant": variant, "device": device, "torch": torch.__version__}), flush=True)


def attention_variants(sets, causal, enable_gqa):
    def call(backend, i):
        q, k, v = sets[i % len(sets)]
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=enable_gqa)

    return {name: (lambda i, backend=backend: call(backend, i)) for name, backend in BACKENDS.items()}


@torch.inference_mode()
def decode(bench):
    cases = [("f16_batch32_4k_gqa8", 32, 4096, 64, 8, 128, torch.float16),
             ("bf16_batch32_4k_gqa8", 32, 4096, 64, 8, 128, torch.bfloat16),
             ("f16_batch32_4k_gqa4", 32, 4096, 32, 8, 128, torch.float16),
             ("f16_batch32_4k_mha", 32, 4096, 8, 8, 128, torch.float16),
             ("f16_batch1_64k_gqa8", 1, 65536, 64, 8, 128, torch.float16),
             ("f16_batch128_1k_gqa8", 128, 1024, 64, 8, 128, torch.float16),
             ("f16_batch32_4k_gqa8_dim64", 32, 4096, 64, 8, 64, torch.float16),
             ("f16_batch16_4k_gqa8_dim256", 16, 4096, 64, 8, 256, torch.float16)]
    for name, batch, tokens, q_heads, kv_heads, dim, dtype in cases:
        if bench.check:
            batch, tokens = 2, 32
        group = q_heads // kv_heads
        rows, heads = [], []
        for _ in range(3):
            k, v = (bench.randn(batch, kv_heads, tokens, dim, dtype=dtype) for _ in range(2))
            q = bench.randn(batch, kv_heads, group, dim, dtype=dtype)
            rows.append((q, k, v))  # the heads of a group are rows that see the same tokens
            heads.append((q.reshape(batch, q_heads, 1, dim), k, v))
        variants = {f"rows/{name}": work for name, work in attention_variants(rows, False, False).items()}
        variants |= {f"heads/{name}": work for name, work in attention_variants(heads, False, True).items()}
        bench.report(f"torch_decode/{name}", bench.best(variants),
                     bytes=2 * batch * kv_heads * tokens * dim * dtype.itemsize)


@torch.inference_mode()
def prefill(bench):
    q_heads, kv_heads, dim = 32, 8, 128
    for name, batch, rows, tokens, causal in [
            ("causal_1x8192", 1, 8192, 8192, True), ("causal_4x2048", 4, 2048, 2048, True),
            ("causal_32x512", 32, 512, 512, True), ("paged_16x256_over_4096", 16, 256, 4096, False)]:
        if bench.check:
            batch, rows, tokens = 1, 16, 16
        sets = [(bench.randn(batch, q_heads, rows, dim), *(bench.randn(batch, kv_heads, tokens, dim) for _ in range(2)))]
        pairs = batch * (rows * (rows + 1) / 2 if causal else rows * tokens)
        bench.report(f"torch_prefill/{name}_bf16", bench.best(attention_variants(sets, causal, True)),
                     flops=4 * dim * q_heads * pairs)


# layers, width, feed-forward, vocabulary, heads, heads of keys and values
LLAMA_3_8B, SMALL = (32, 4096, 14336, 128256, 32, 8), (2, 64, 96, 100, 4, 2)


class Llama:
    """The decode step of a Llama with random weights: one new token per sequence at a fixed place of its cache."""

    def __init__(self, bench, batch, context, sizes):
        layers, width, ffn, vocab, heads, kv_heads = sizes
        self.heads, self.kv_heads, self.dim = heads, kv_heads, width // heads
        scale = width ** -0.5
        self.table, self.output = (bench.randn(vocab, width) * scale for _ in range(2))
        self.norm = torch.ones(width, device=bench.device, dtype=torch.bfloat16)
        self.layers = []
        for _ in range(layers):
            qkv = bench.randn((heads + 2 * kv_heads) * self.dim, width) * scale
            cache = [bench.randn(batch, kv_heads, context, self.dim) for _ in range(2)]
            self.layers.append((qkv, bench.randn(width, heads * self.dim) * scale, bench.randn(2 * ffn, width) * scale,
                                bench.randn(width, ffn) * scale, *cache))
        angles = torch.outer(torch.tensor([context - 1.0]), 500000.0 ** (-torch.arange(0, self.dim, 2) / self.dim))
        self.cos, self.sin = (f(angles).to(bench.device, torch.bfloat16) for f in (torch.cos, torch.sin))
        self.ids = torch.randint(0, vocab, (batch,), device=bench.device)
        self.at = context - 1

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1)

    def attend(self, q, k, v):
        batch, group = q.shape[0], self.heads // self.kv_heads
        return F.scaled_dot_product_attention(q.view(batch, self.kv_heads, group, self.dim), k, v).reshape(batch, -1)

    def step(self):
        x = F.embedding(self.ids, self.table)
        sizes = [self.heads * self.dim, self.kv_heads * self.dim, self.kv_heads * self.dim]
        for qkv, out, widen, narrow, k_cache, v_cache in self.layers:
            q, k, v = F.linear(F.rms_norm(x, x.shape[-1:], self.norm), qkv).split(sizes, dim=-1)
            q = self.rotate(q.view(-1, self.heads, self.dim))
            k_cache[:, :, self.at] = self.rotate(k.view(-1, self.kv_heads, self.dim))
            v_cache[:, :, self.at] = v.view(-1, self.kv_heads, self.dim)
            x = x + F.linear(self.attend(q, k_cache, v_cache), out)
            gate, up = F.linear(F.rms_norm(x, x.shape[-1:], self.norm), widen).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, narrow)
        return F.linear(F.rms_norm(x, x.shape[-1:], self.norm), self.output).argmax(dim=-1)


@torch.inference_mode()
def step(bench):
    for batch, context in ((1, 128), (64, 128), (64, 4096)):
        model = Llama(bench, 2, 16, SMALL) if bench.check else Llama(bench, batch, context, LLAMA_3_8B)
        work = {"eager" if bench.check else "graph": model.step}
        if not bench.check:
            work["compiled, graph"] = torch.compile(model.step)
        weights = sum(w.numel() for layer in model.layers for w in layer[:4]) + model.output.numel()
        cache = sum(w.numel() for layer in model.layers for w in layer[4:])
        found = bench.best({name: (lambda i, run=run: run()) for name, run in work.items()}, launches=1)
        bench.report(f"torch_step/decode batch{batch} context{context}", found, bytes=2 * (weights + cache))
        del model, work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], "decode", "prefill", "step"], help="default: all")
    parser.add_argument("--check", action="store_true", help="whether it works, on the CPU; prints no times")
    options = parser.parse_args()
    if not options.check and not torch.cuda.is_available():
        print("there is no GPU")
        return 77
    bench = Bench(options.check)
    for name, group in (("decode", decode), ("prefill", prefill), ("step", step)):
        if not options.groups or name in options.groups:
            group(bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
