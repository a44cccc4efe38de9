#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the cases of tests/host/engine/executor/recorded_families_test.cpp: tiny random models and what they answer.

For every family: a checkpoint with random weights, small sizes and settings that bite (a window
shorter than the text, caps near the scores), as Hugging Face Transformers makes it; its logits in
float64, and once more with keys and values rounded to float16, as a cache keeps them; the directory it saves (config.json, model.safetensors, float16); and the same weights as a
GGUF file, with names from the gguf package and the conventions of published files: Gemma's norms
stored with 1 added, rows of q and k of the Llama family with rotated pairs side by side, experts
stacked. Deterministic. Run again with

    python3 -m venv venv && venv/bin/pip install torch transformers gguf safetensors
    venv/bin/python tests/host/model/families/record_families.py [FAMILY ...]

Recorded with torch 2.15.0, transformers 5.23.0, gguf 0.19.0.
"""

import copy
import json
import math
import pathlib
import shutil
import sys
import tempfile

import gguf
import numpy
import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent / "recorded"
NUM_TOKENS = 72
POSITIONS = [0, 1, 5, 9, 10, 11, 12, 16, 23, 31, 32, 33, 47, 59, 70, 71]
SIZES = dict(vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
             tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, pad_token_id=0)

# Of each case: Transformers' configuration class, what differs from SIZES, GGUF's architecture.
CASES = {
    "llama": ("LlamaConfig", dict(
        rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=32)), "llama"),
    "mistral": ("MistralConfig", dict(head_dim=16, sliding_window=11), "llama"),
    "mixtral": ("MixtralConfig", dict(
        intermediate_size=16, num_local_experts=5, num_experts_per_tok=2, sliding_window=None),
        "llama"),
    "qwen2": ("Qwen2Config", dict(tie_word_embeddings=True, use_sliding_window=False), "qwen2"),
    "qwen2moe": ("Qwen2MoeConfig", dict(
        num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, norm_topk_prob=False,
        shared_expert_intermediate_size=24, use_sliding_window=False), "qwen2moe"),
    "qwen3": ("Qwen3Config", dict(head_dim=16, use_sliding_window=False), "qwen3"),
    "qwen3moe": ("Qwen3MoeConfig", dict(
        head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16,
        norm_topk_prob=True, use_sliding_window=False), "qwen3moe"),
    "gemma2": ("Gemma2Config", dict(
        head_dim=16, num_hidden_layers=3, sliding_window=9, attn_logit_softcapping=3.0,
        final_logit_softcapping=4.0, query_pre_attn_scalar=11, tie_word_embeddings=True), "gemma2"),
    "gemma3": ("Gemma3TextConfig", dict(
        head_dim=16, num_hidden_layers=7, num_key_value_heads=1, intermediate_size=32,
        sliding_window=10, query_pre_attn_scalar=16, tie_word_embeddings=True,
        rope_parameters=dict(
            full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000000.0),
            sliding_attention=dict(rope_type="default", rope_theta=10000.0))), "gemma3"),
    "phi3": ("Phi3Config", dict(
        num_attention_heads=2, num_key_value_heads=1, sliding_window=19,
        original_max_position_embeddings=32,
        rope_parameters=dict(
            rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.5,
            short_factor=[1.0, 1.1, 1.3, 1.5], long_factor=[1.0, 1.5, 3.0, 6.0],
            original_max_position_embeddings=32)), "phi3"),
}


def randomise(model, generator):
    """Weights that keep rows near 1 and make attention, experts and norms matter."""
    gemma = "Gemma" in type(model).__name__
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=generator, dtype=torch.float32)
            if "norm" in name:
                values.copy_(0.3 * noise + (0.0 if gemma else 1.0))
            elif name.endswith(".bias"):
                values.copy_(0.5 * noise)
            elif "embed_tokens" in name:
                values.copy_(noise / (math.sqrt(values.shape[-1]) if gemma else 1.0))
            else:
                values.copy_(1.5 * noise / math.sqrt(values.shape[-1]))
            values.copy_(values.half().float())


def stack_experts(tensors):
    """Tensors of single experts, "....experts.3.w1.weight", as one of all: names as GGUF has them."""
    parts = {"w1": "gate", "w2": "down", "w3": "up",
             "gate_proj": "gate", "down_proj": "down", "up_proj": "up"}
    stacked, rest = {}, {}
    for name, values in tensors.items():
        words = name.split(".")
        if "experts" not in words:
            rest[name] = values
            continue
        layer, expert, part = int(words[2]), int(words[words.index("experts") + 1]), words[-2]
        stacked.setdefault(f"blk.{layer}.ffn_{parts[part]}_exps.weight", {})[expert] = values
    return rest, {name: numpy.stack([by[i] for i in range(len(by))]) for name, by in stacked.items()}


def neighbours(rows, heads):
    """Rows of q or k so that the pairs (i, i + n/2) of every head lie side by side."""
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def write_metadata(writer, config, arch):
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    rope = config.rope_parameters
    whole = rope.get("full_attention", rope)
    writer.add_rope_freq_base(whole["rope_theta"])
    writer.add_rope_dimension_count(int(head_dim * whole.get("partial_rotary_factor", 1.0)))
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    experts = getattr(config, "num_experts", None) or getattr(config, "num_local_experts", None)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    if arch in ("qwen2moe", "qwen3moe"):
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if arch == "qwen2moe":
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if arch in ("gemma2", "gemma3"):
        writer.add_float32(f"{arch}.attention.scale", 1.0 / math.sqrt(config.query_pre_attn_scalar))
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch == "gemma3":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(whole["factor"])
    if arch == "phi3":
        original = config.original_max_position_embeddings
        extension = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(extension) / math.log(original)))


def rope_tensors(config):
    """Divisors of the rotary frequencies, for kinds of scaling that GGUF has as tensors."""
    rope = config.rope_parameters
    if rope.get("rope_type") == "longrope":
        return {"rope_factors_long.weight": rope["long_factor"],
                "rope_factors_short.weight": rope["short_factor"]}
    if rope.get("rope_type") == "llama3":
        init = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"]
        scaled = init(config, torch.device("cpu"))[0].double()
        dims = 2 * len(scaled)
        plain = rope["rope_theta"] ** (-torch.arange(0, dims, 2).double() / dims)
        return {"rope_freqs.weight": (plain / scaled).tolist()}
    return {}


def write_gguf(path, directory, config, arch):
    writer = gguf.GGUFWriter(path, arch)
    write_metadata(writer, config, arch)
    kind = next(k for k, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    tensors = safetensors.torch.load_file(directory / "model.safetensors")
    rest, stacked = stack_experts({name: values.numpy() for name, values in tensors.items()})
    for name, values in rest.items():
        to = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert to is not None, name
        if arch == "llama" and name.split(".")[-2] in ("q_proj", "k_proj"):
            is_q = name.split(".")[-2] == "q_proj"
            heads = config.num_attention_heads if is_q else config.num_key_value_heads
            values = neighbours(values, heads)
        if values.ndim == 1:
            values = values.astype(numpy.float32)
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            values = values + 1.0
        writer.add_tensor(to, numpy.ascontiguousarray(values))
    for name, values in stacked.items():
        writer.add_tensor(name, values)
    for name, values in rope_tensors(config).items():
        writer.add_tensor(name, numpy.array(values, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def logits_of(model, tokens):
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    assert logits.dtype == torch.float64 and bool(torch.isfinite(logits).all())
    return [[float(f"{x:.9g}") for x in logits[position].tolist()] for position in POSITIONS]


def logits_with_rounded_cache(model, tokens):
    module = sys.modules[type(model).__module__]
    attend = module.eager_attention_forward

    def rounded(owner, query, key, value, *rest, **options):
        return attend(owner, query, key.half().double(), value.half().double(), *rest, **options)

    module.eager_attention_forward = rounded
    try:
        return logits_of(model, tokens)
    finally:
        module.eager_attention_forward = attend


def record(name):
    kind, settings, arch = CASES[name]
    config = getattr(transformers, kind)(**{**SIZES, **settings})
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", experts_implementation="eager")
    model.eval()
    randomise(model, generator)
    tokens = torch.randint(3, config.vocab_size, (NUM_TOKENS,), generator=generator)
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        saved = pathlib.Path(temporary)
        copy.deepcopy(model).half().save_pretrained(saved)
        shutil.copy(saved / "config.json", folder / "config.json")
        shutil.copy(saved / "model.safetensors", folder / "model.safetensors")
        write_gguf(folder / "model.gguf", saved, config, arch)
    model.double()
    case = {"tokens": tokens.tolist(), "positions": POSITIONS, "logits": logits_of(model, tokens),
            "logits_f16_cache": logits_with_rounded_cache(model, tokens)}
    text = json.dumps(case, separators=(",", ":")).replace("],[", "],\n[")
    (folder / "case.json").write_text(text + "\n")
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes")


if __name__ == "__main__":
    for case_name in sys.argv[1:] or CASES:
        record(case_name)
