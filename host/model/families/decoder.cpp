// SPDX-License-Identifier: Apache-2.0
//
// Decoder: sizes, windows and tensors.
#include "model/families/decoder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tandem::model {
namespace {

constexpr std::uint32_t kMaxHeadDim = 4096, kMaxExperts = 65536;

void read_heads(const CheckpointReader& reader, ModelConfig& config) {
  config.q_heads = reader.positive("attention.head_count");
  config.kv_heads = reader.positive_or("attention.head_count_kv", config.q_heads);
  if (config.q_heads % config.kv_heads != 0) {
    throw reader.error("attention.head_count_kv",
                       std::to_string(config.q_heads) + " query heads are not a multiple of " +
                           std::to_string(config.kv_heads) + " KV heads");
  }
  if (!reader.has("attention.key_length") && config.width % config.q_heads != 0) {
    throw reader.error("attention.head_count",
                       "does not divide the width " + std::to_string(config.width));
  }
  config.head_dim =
      reader.positive_or("attention.key_length", config.width / config.q_heads, kMaxHeadDim);
  if (reader.positive_or("attention.value_length", config.head_dim) != config.head_dim) {
    throw reader.error("attention.value_length",
                       "differs from the key length, which is not supported");
  }
  config.attention_scale = reader.positive_float(
      "attention.scale", 1.0f / std::sqrt(static_cast<float>(config.head_dim)));
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

ModelConfig read_sizes(const CheckpointReader& reader, int vocab_size) {
  ModelConfig config;
  config.name = reader.file().get_string("general.name").value_or("");
  config.architecture = reader.architecture();
  config.num_layers = reader.positive("block_count", kMaxLayers);
  config.width = reader.positive("embedding_length");
  config.context_length = reader.positive("context_length", kMaxContext);
  config.vocab_size = vocab_size;
  config.norm_epsilon = reader.positive_float("attention.layer_norm_rms_epsilon", 1e-5f);
  read_heads(reader, config);
  return config;
}

void scale_by_width(const CheckpointReader& reader, ModelConfig& config) {
  const float head_width = static_cast<float>(config.width) / static_cast<float>(config.q_heads);
  config.attention_scale = reader.positive_float("attention.scale", 1.0f / std::sqrt(head_width));
}

std::vector<int> read_windows(const CheckpointReader& reader, const ModelConfig& config,
                              int period) {
  constexpr const char* kWindow = "attention.sliding_window";
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  if (!reader.has(kWindow)) return {};
  const int window = reader.positive(kWindow, kMaxContext);
  const auto num_layers = static_cast<std::size_t>(config.num_layers);
  std::vector<int> windows(num_layers, window);
  std::optional<std::vector<bool>> pattern;
  if (reader.file().is_array(reader.key(kPattern))) {
    pattern = reader.file().get_bools(reader.key(kPattern));
  } else {
    period = static_cast<int>(std::min(
        reader.file().get_u32(reader.key(kPattern)).value_or(static_cast<std::uint32_t>(period)),
        kMaxLayers + 1));
  }
  if (pattern && pattern->size() != num_layers) {
    throw reader.error(kPattern, "has " + std::to_string(pattern->size()) + " entries for " +
                                     std::to_string(num_layers) + " layers");
  }
  for (std::size_t layer = 0; layer < num_layers; ++layer) {
    const bool last = period > 0 && (layer + 1) % static_cast<std::size_t>(period) == 0;
    if (pattern ? !(*pattern)[layer] : last) windows[layer] = 0;
  }
  if (std::ranges::count(windows, 0) == config.num_layers) return {};
  return windows;
}

ExpertConfig read_experts(const CheckpointReader& reader, int ffn_width, bool normalise) {
  ExpertConfig experts;
  experts.count = reader.positive("expert_count", kMaxExperts);
  experts.used = reader.positive("expert_used_count", kMaxExperts);
  if (experts.used > experts.count) {
    throw reader.error("expert_used_count", std::to_string(experts.used) + " of " +
                                                std::to_string(experts.count) + " experts");
  }
  experts.ffn_width = ffn_width;
  experts.normalise = reader.file().get_bool(reader.key("expert_weights_norm")).value_or(normalise);
  return experts;
}

std::string block_name(int layer) { return "blk." + std::to_string(layer) + "."; }

void read_attention(CheckpointReader& reader, const ModelConfig& config, int layer,
                    LayerTensors& tensors) {
  const std::string block = block_name(layer);
  const std::int64_t width = config.width;
  const std::int64_t q_width = std::int64_t{config.q_heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  tensors.attention_norm = reader.vector(block + "attn_norm.weight", width);
  tensors.wq = reader.matrix(block + "attn_q.weight", q_width, width);
  tensors.wk = reader.matrix(block + "attn_k.weight", kv_width, width);
  tensors.wv = reader.matrix(block + "attn_v.weight", kv_width, width);
  tensors.bq = reader.optional_vector(block + "attn_q.bias", q_width);
  tensors.bk = reader.optional_vector(block + "attn_k.bias", kv_width);
  tensors.bv = reader.optional_vector(block + "attn_v.bias", kv_width);
  tensors.wo = reader.matrix(block + "attn_output.weight", width, q_width);
  tensors.bo = reader.optional_vector(block + "attn_output.bias", width);
}

void require_biases(const CheckpointReader& reader, int layer, const LayerTensors& tensors) {
  const std::pair<const char*, const TensorView*> biases[] = {
      {"attn_q.bias", &tensors.bq}, {"attn_k.bias", &tensors.bk}, {"attn_v.bias", &tensors.bv}};
  for (const auto& [name, view] : biases) {
    if (!*view) throw reader.file().missing_tensor_error(block_name(layer) + name);
  }
}

void read_head_norms(CheckpointReader& reader, const ModelConfig& config, int layer,
                     LayerTensors& tensors) {
  tensors.q_norm = reader.vector(block_name(layer) + "attn_q_norm.weight", config.head_dim);
  tensors.k_norm = reader.vector(block_name(layer) + "attn_k_norm.weight", config.head_dim);
}

void read_post_norms(CheckpointReader& reader, const ModelConfig& config, int layer,
                     LayerTensors& tensors) {
  const std::string block = block_name(layer);
  tensors.attention_post_norm = reader.vector(block + "post_attention_norm.weight", config.width);
  tensors.ffn_post_norm = reader.vector(block + "post_ffw_norm.weight", config.width);
}

void read_feed_forward(CheckpointReader& reader, const ModelConfig& config, int layer,
                       LayerTensors& tensors) {
  const std::string block = block_name(layer);
  tensors.ffn_norm = reader.vector(block + "ffn_norm.weight", config.width);
  tensors.gate = reader.matrix(block + "ffn_gate.weight", config.ffn_width, config.width);
  tensors.up = reader.matrix(block + "ffn_up.weight", config.ffn_width, config.width);
  tensors.down = reader.matrix(block + "ffn_down.weight", config.width, config.ffn_width);
}

void read_expert_layer(CheckpointReader& reader, const ModelConfig& config, int layer,
                       LayerTensors& tensors) {
  const std::string block = block_name(layer);
  const int count = config.experts.count;
  const std::int64_t width = config.width, ffn = config.experts.ffn_width;
  tensors.ffn_norm = reader.vector(block + "ffn_norm.weight", width);
  tensors.router = reader.matrix(block + "ffn_gate_inp.weight", count, width);
  auto gates = reader.experts(block + "ffn_gate_exps.weight", count, ffn, width);
  auto ups = reader.experts(block + "ffn_up_exps.weight", count, ffn, width);
  auto downs = reader.experts(block + "ffn_down_exps.weight", count, width, ffn);
  for (std::size_t i = 0; i < gates.size(); ++i) {
    tensors.experts.push_back({std::move(gates[i]), std::move(ups[i]), std::move(downs[i])});
  }
}

FamilyWeights finish(CheckpointReader& reader, ModelConfig config,
                     std::vector<LayerTensors> layers) {
  FamilyWeights weights;
  weights.embedding = reader.matrix("token_embd.weight", config.vocab_size, config.width);
  weights.output_norm = reader.vector("output_norm.weight", config.width);
  weights.output = reader.optional_matrix("output.weight", config.vocab_size, config.width);
  if (!weights.output) weights.output = weights.embedding;
  weights.layers = std::move(layers);
  reader.refuse_unknown_tensors();
  count_weights(reader.file(), config);
  weights.config = std::move(config);
  return weights;
}

}  // namespace tandem::model
