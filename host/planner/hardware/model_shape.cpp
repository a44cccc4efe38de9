// SPDX-License-Identifier: Apache-2.0
//
// Parameters and operations of a decoder with gated feed-forward, and the shapes of models.
#include "planner/hardware/model_shape.h"

#include <array>
#include <cmath>

#include "planner/hardware/preset_names.h"

namespace tandem::planner {
namespace {

// name, layers, width, heads, KV heads, head_dim, ffn, vocabulary, context, experts, used
const std::array kModels = {
    ModelShape{"llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 0, 0},
    ModelShape{"llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, 4096, 0, 0},
    ModelShape{"llama-2-13b", 40, 5120, 40, 40, 128, 13824, 32000, 4096, 0, 0},
    ModelShape{"llama-2-70b", 80, 8192, 64, 8, 128, 28672, 32000, 4096, 0, 0},
    ModelShape{"llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 8192, 0, 0},
    ModelShape{"llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 8192, 0, 0},
    ModelShape{"llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 0, 0},
    ModelShape{"llama-3.1-70b", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0, 0},
    ModelShape{"llama-33b", 60, 6656, 52, 52, 128, 17920, 32000, 2048, 0, 0},
    ModelShape{"llama-65b", 80, 8192, 64, 64, 128, 22016, 32000, 2048, 0, 0},
    ModelShape{"qwen2.5-7b", 28, 3584, 28, 4, 128, 18944, 152064, 131072, 0, 0},
    ModelShape{"qwen2.5-14b", 48, 5120, 40, 8, 128, 13824, 152064, 131072, 0, 0},
    ModelShape{"qwen2.5-32b", 64, 5120, 40, 8, 128, 27648, 152064, 131072, 0, 0},
    ModelShape{"qwen2.5-72b", 80, 8192, 64, 8, 128, 29568, 152064, 131072, 0, 0},
    ModelShape{"qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 0, 0},
    ModelShape{"qwen3-14b", 40, 5120, 40, 8, 128, 17408, 151936, 40960, 0, 0},
    ModelShape{"qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, 40960, 0, 0},
    ModelShape{"qwen3-30b-a3b", 48, 2048, 32, 4, 128, 768, 151936, 40960, 128, 8},
    ModelShape{"mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, 32768, 8, 2},
    ModelShape{"mixtral-8x22b", 56, 6144, 48, 8, 128, 16384, 32768, 65536, 8, 2},
};

}  // namespace

double ModelShape::kv_parameters() const { return 2.0 * width * kv_heads * head_dim; }

double ModelShape::attention_parameters() const {
  return 2.0 * width * q_heads * head_dim + kv_parameters();
}

double ModelShape::expert_parameters() const { return 3.0 * width * ffn_width; }

double ModelShape::parameters_read(double rows) const {
  double experts = 1;
  if (num_experts > 0) {
    // Every row chooses alike at random: an expert is left out by all rows with (1 - k/n)^rows.
    const double left_out = std::pow(1.0 - double(used_experts) / num_experts, rows);
    experts = num_experts * (1 - left_out);
  }
  const double layer = attention_parameters() + experts * expert_parameters();
  return num_layers * layer + double(width) * vocab_size;
}

double ModelShape::parameters() const {
  const int experts = num_experts > 0 ? num_experts : 1;
  const double layer = attention_parameters() + experts * expert_parameters();
  return num_layers * layer + 2.0 * width * vocab_size;
}

double ModelShape::ops_per_row() const {
  const int experts = num_experts > 0 ? used_experts : 1;
  return 2 * num_layers * (attention_parameters() + experts * expert_parameters());
}

std::span<const ModelShape> model_presets() { return kModels; }

ModelShape model_preset(std::string_view name) {
  return find_preset("model", "model", std::span<const ModelShape>(kModels), name);
}

}  // namespace tandem::planner
