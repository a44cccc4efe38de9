// SPDX-License-Identifier: Apache-2.0
//
// Phi-3 and Phi-4: Llama with q, k, v in one matrix and gate, up in another, a window of every
// layer, rotating (i, i + n/2) of the first part of each head, frequencies divided by factors of
// long or of short contexts.
//
// Keys phi3.*: attention.sliding_window, rope.dimension_count, rope.scaling.{
// original_context_length, attn_factor}. Tensors as in llama.cpp with blk.N.attn_qkv
// [q; k; v] and blk.N.ffn_up [gate; up], and rope_factors_{long, short}, one divisor per
// frequency: those of long contexts where the model's is longer than the original, for every
// position, so that keys in the cache stay valid when a sequence grows.
// Source: Abdin et al. 2024 (Phi-3); Ding et al. 2024 (LongRoPE).
#include "model/families/decoder.h"

namespace tandem::model {
namespace {

RopeConfig read_long_rope(CheckpointReader& reader, const ModelConfig& config) {
  constexpr const char* kLong = "rope_factors_long.weight";
  constexpr const char* kShort = "rope_factors_short.weight";
  RopeScalingConfig scaling = read_rope_base(reader, config);
  auto long_factors = reader.optional_divisors(kLong, scaling.num_dims / 2);
  auto short_factors = reader.optional_divisors(kShort, scaling.num_dims / 2);
  if (long_factors.empty() != short_factors.empty()) {
    throw reader.file().missing_tensor_error(long_factors.empty() ? kLong : kShort);
  }
  if (long_factors.empty()) return read_rope(reader, config);
  const bool is_long = config.context_length > scaling.original_context;
  scaling.divisors = std::move(is_long ? long_factors : short_factors);
  RopeConfig rope = scaled_rope(scaling);
  rope.magnitude = reader.positive_float("rope.scaling.attn_factor", 1.0f);
  rope.interleaved = false;
  return rope;
}

void read_fused_layer(CheckpointReader& reader, const ModelConfig& config, int layer,
                      LayerTensors& tensors) {
  const std::string block = block_name(layer);
  const std::int64_t width = config.width, ffn = config.ffn_width;
  const std::int64_t q_width = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  tensors.attention_norm = reader.vector(block + "attn_norm.weight", width);
  const auto qkv =
      reader.row_slices(block + "attn_qkv.weight", {q_width, kv_width, kv_width}, width);
  tensors.wq = qkv[0];
  tensors.wk = qkv[1];
  tensors.wv = qkv[2];
  tensors.wo = reader.matrix(block + "attn_output.weight", width, q_width);
  tensors.ffn_norm = reader.vector(block + "ffn_norm.weight", width);
  const auto gate_up = reader.row_slices(block + "ffn_up.weight", {ffn, ffn}, width);
  tensors.gate = gate_up[0];
  tensors.up = gate_up[1];
  tensors.down = reader.matrix(block + "ffn_down.weight", width, ffn);
}

}  // namespace

FamilyWeights read_phi3(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.rope = read_long_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_fused_layer(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
