// SPDX-License-Identifier: Apache-2.0
//
// The Llama family: RMSNorm, grouped-query attention with RoPE on interleaved pairs, SwiGLU, tied
// or separate output; optional biases of q, k, v and o.
//
// Keys llama.*; tensors token_embd, blk.N.{attn_norm, attn_q, attn_k, attn_v, attn_output,
// ffn_norm, ffn_gate, ffn_up, ffn_down}, output_norm, output, rope_freqs. A sliding window limits
// the context to its length, within which it changes nothing.
// Source: Touvron et al. 2023; Grattafiori et al. 2024 (Llama 3); the GGUF specification.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "model/families/family.h"
#include "model/families/rope_scaling.h"

namespace tandem::model {
namespace {

constexpr std::uint32_t kMaxLayers = 4096, kMaxWidth = 1u << 20, kMaxContext = 1u << 30;

// A required number that must lie in 1..limit.
int positive(const Checkpoint& file, const std::string& key, std::optional<std::uint32_t> value,
             std::uint32_t limit) {
  if (!value) throw file.field_error(key, "is missing");
  if (*value < 1 || *value > limit) {
    throw file.field_error(key, std::to_string(*value) + " is not in 1.." + std::to_string(limit));
  }
  return static_cast<int>(*value);
}

int positive(const Checkpoint& file, const std::string& key, std::uint32_t limit = kMaxWidth) {
  return positive(file, key, file.get_uniform_u32(key), limit);
}

int positive_or(const Checkpoint& file, const std::string& key, int fallback,
                std::uint32_t limit = kMaxWidth) {
  const auto value = file.get_uniform_u32(key);
  return value ? positive(file, key, value, limit) : fallback;
}

void refuse_unsupported(const Checkpoint& file) {
  if (file.get_u32("llama.expert_count").value_or(0) > 0) {
    throw file.field_error("llama.expert_count",
                           "mixture-of-experts models are not supported; use a dense one");
  }
}

void read_heads(const Checkpoint& file, ModelConfig& config) {
  config.q_heads = positive(file, "llama.attention.head_count");
  config.kv_heads = positive_or(file, "llama.attention.head_count_kv", config.q_heads);
  if (config.q_heads % config.kv_heads != 0) {
    throw file.field_error("llama.attention.head_count_kv",
                           std::to_string(config.q_heads) + " query heads are not a multiple of " +
                               std::to_string(config.kv_heads) + " KV heads");
  }
  if (!file.has("llama.attention.key_length") && config.width % config.q_heads != 0) {
    throw file.field_error("llama.attention.head_count",
                           "does not divide the width " + std::to_string(config.width));
  }
  config.head_dim =
      positive_or(file, "llama.attention.key_length", config.width / config.q_heads, 4096);
  if (positive_or(file, "llama.attention.value_length", config.head_dim) != config.head_dim) {
    throw file.field_error("llama.attention.value_length",
                           "differs from the key length, which is not supported");
  }
  config.attention_scale = file.get_f32("llama.attention.scale")
                               .value_or(1.0f / std::sqrt(static_cast<float>(config.head_dim)));
}

// The tensor `name` as [rows, columns]; an empty view when it is absent and may be.
TensorView matrix(const Checkpoint& file, const std::string& name, std::int64_t rows,
                  std::int64_t columns, bool required = true) {
  const CheckpointTensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) {
    if (!required) return {};
    throw file.missing_tensor_error(name);
  }
  TensorView view = file.view(*tensor);
  if (view.rows != rows || view.columns != columns) {
    throw file.tensor_error(*tensor, "has shape [" + std::to_string(view.rows) + ", " +
                                         std::to_string(view.columns) +
                                         "], the configuration needs [" + std::to_string(rows) +
                                         ", " + std::to_string(columns) + "]");
  }
  return view;
}

// A norm or bias: a row of floats, never quantised.
TensorView vector(const Checkpoint& file, const std::string& name, std::int64_t columns,
                  bool required = true) {
  TensorView view = matrix(file, name, 1, columns, required);
  if (view && dtype_block_values(view.dtype) != 1) {
    throw file.tensor_error(*file.find_tensor(name), "a norm or bias must be F32, F16 or BF16");
  }
  return view;
}

RopeScaling scaling_kind(const Checkpoint& file) {
  const auto name = file.get_string("llama.rope.scaling.type");
  if (!name || *name == "none") return RopeScaling::kNone;
  if (*name == "linear") return RopeScaling::kLinear;
  if (*name == "yarn") return RopeScaling::kYarn;
  throw file.field_error(
      "llama.rope.scaling.type",
      "'" + std::string(*name) + "' is not supported; supported: none, linear, yarn");
}

float positive_float(const Checkpoint& file, const std::string& key, float fallback) {
  const float value = file.get_f32(key).value_or(fallback);
  if (!(value > 0.0f)) throw file.field_error(key, "must be greater than 0");
  return value;
}

std::vector<float> frequency_divisors(const Checkpoint& file, int num_pairs) {
  const TensorView view = vector(file, "rope_freqs.weight", num_pairs, false);
  if (!view) return {};
  std::vector<float> divisors(static_cast<std::size_t>(num_pairs));
  dequantize_row(view.dtype, view.data, divisors.data(), divisors.size());
  for (const float divisor : divisors) {
    if (!std::isfinite(divisor) || !(divisor > 0.0f)) {
      throw file.tensor_error(*file.find_tensor(view.name), "must hold numbers greater than 0");
    }
  }
  return divisors;
}

RopeConfig read_rope(const Checkpoint& file, const ModelConfig& config) {
  RopeScalingConfig scaling;
  scaling.num_dims = positive_or(file, "llama.rope.dimension_count", config.head_dim);
  if (scaling.num_dims % 2 != 0 || scaling.num_dims > config.head_dim) {
    throw file.field_error("llama.rope.dimension_count",
                           std::to_string(scaling.num_dims) +
                               " must be even and at most the head's " +
                               std::to_string(config.head_dim));
  }
  scaling.base = positive_float(file, "llama.rope.freq_base", 10000.0f);
  scaling.kind = scaling_kind(file);
  scaling.factor = positive_float(file, "llama.rope.scaling.factor", 1.0f);
  if (!file.has("llama.rope.scaling.type") && file.has("llama.rope.scale_linear")) {
    scaling.kind = RopeScaling::kLinear;
    scaling.factor = positive_float(file, "llama.rope.scale_linear", 1.0f);
  }
  scaling.original_context = positive_or(file, "llama.rope.scaling.original_context_length",
                                         config.context_length, kMaxContext);
  scaling.beta_fast = positive_float(file, "llama.rope.scaling.yarn_beta_fast", 32.0f);
  scaling.beta_slow = positive_float(file, "llama.rope.scaling.yarn_beta_slow", 1.0f);
  scaling.attention_factor = positive_float(file, "llama.rope.scaling.attn_factor", 1.0f);
  if (scaling.kind == RopeScaling::kYarn && !(scaling.base > 1.0f)) {
    throw file.field_error("llama.rope.freq_base", "must be greater than 1 for YaRN");
  }
  scaling.divisors = frequency_divisors(file, scaling.num_dims / 2);
  RopeConfig rope = scaled_rope(scaling);
  rope.interleaved = file.rotates_neighbours();
  return rope;
}

ModelConfig read_config(const Checkpoint& file, int vocab_size) {
  ModelConfig config;
  config.name = file.get_string("general.name").value_or("");
  config.architecture = "llama";
  config.num_layers = positive(file, "llama.block_count", kMaxLayers);
  config.width = positive(file, "llama.embedding_length");
  config.ffn_width = positive(file, "llama.feed_forward_length");
  config.context_length = positive(file, "llama.context_length", kMaxContext);
  const int window =
      positive_or(file, "llama.attention.sliding_window", config.context_length, kMaxContext);
  config.vocab_size = vocab_size;
  config.norm_epsilon = file.get_f32("llama.attention.layer_norm_rms_epsilon").value_or(1e-5f);
  if (!(config.norm_epsilon > 0.0f)) {
    throw file.field_error("llama.attention.layer_norm_rms_epsilon", "must be greater than 0");
  }
  read_heads(file, config);
  config.rope = read_rope(file, config);
  config.context_length = std::min(config.context_length, window);
  return config;
}

LayerTensors read_layer(const Checkpoint& file, const ModelConfig& config, int layer) {
  const std::string block = "blk." + std::to_string(layer) + ".";
  const std::int64_t width = config.width, ffn = config.ffn_width;
  const std::int64_t q_width = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  LayerTensors tensors;
  tensors.attention_norm = vector(file, block + "attn_norm.weight", width);
  tensors.wq = matrix(file, block + "attn_q.weight", q_width, width);
  tensors.wk = matrix(file, block + "attn_k.weight", kv_width, width);
  tensors.wv = matrix(file, block + "attn_v.weight", kv_width, width);
  tensors.bq = vector(file, block + "attn_q.bias", q_width, false);
  tensors.bk = vector(file, block + "attn_k.bias", kv_width, false);
  tensors.bv = vector(file, block + "attn_v.bias", kv_width, false);
  tensors.wo = matrix(file, block + "attn_output.weight", width, q_width);
  tensors.bo = vector(file, block + "attn_output.bias", width, false);
  tensors.ffn_norm = vector(file, block + "ffn_norm.weight", width);
  tensors.gate = matrix(file, block + "ffn_gate.weight", ffn, width);
  tensors.up = matrix(file, block + "ffn_up.weight", ffn, width);
  tensors.down = matrix(file, block + "ffn_down.weight", width, ffn);
  return tensors;
}

// A tensor that nobody takes would be left out of the computation silently.
void refuse_unknown_tensors(const Checkpoint& file, const FamilyWeights& weights) {
  std::unordered_set<std::string_view> known = {"rope_freqs.weight", weights.embedding.name,
                                                weights.output_norm.name, weights.output.name};
  for (const LayerTensors& layer : weights.layers) {
    for (const TensorView* view :
         {&layer.attention_norm, &layer.wq, &layer.wk, &layer.wv, &layer.bq, &layer.bk, &layer.bv,
          &layer.wo, &layer.bo, &layer.ffn_norm, &layer.gate, &layer.up, &layer.down}) {
      known.insert(view->name);
    }
  }
  file.for_each_tensor([&](const CheckpointTensor& tensor) {
    // Old converters stored the rotary table, which follows from the configuration.
    if (!known.contains(tensor.name) && !tensor.name.ends_with(".attn_rot_embd.weight")) {
      throw file.tensor_error(tensor, "a model of the llama family has no such tensor");
    }
  });
}

// Totals over the file's tensors, and the element type that holds most parameters.
void count_weights(const Checkpoint& file, ModelConfig& config) {
  std::map<std::string_view, std::uint64_t> by_type;
  file.for_each_tensor([&](const CheckpointTensor& tensor) {
    std::uint64_t values = 1;
    for (const std::uint64_t dim : tensor.dims) values *= dim;
    by_type[dtype_name(tensor.dtype)] += values;
    config.parameters += values;
    config.weight_bytes += tensor.size_bytes;
  });
  std::uint64_t most = 0;
  for (const auto& [name, values] : by_type) {
    if (values > most) config.quantization = name;
    most = std::max(most, values);
  }
}

}  // namespace

FamilyWeights read_llama(const Checkpoint& file, int vocab_size) {
  refuse_unsupported(file);
  FamilyWeights weights;
  weights.config = read_config(file, vocab_size);
  const ModelConfig& config = weights.config;
  weights.embedding = matrix(file, "token_embd.weight", vocab_size, config.width);
  weights.output_norm = vector(file, "output_norm.weight", config.width);
  weights.output = matrix(file, "output.weight", vocab_size, config.width, false);
  if (!weights.output) weights.output = weights.embedding;
  for (int layer = 0; layer < config.num_layers; ++layer) {
    weights.layers.push_back(read_layer(file, config, layer));
  }
  refuse_unknown_tensors(file, weights);
  count_weights(file, weights.config);
  return weights;
}

}  // namespace tandem::model
