// SPDX-License-Identifier: Apache-2.0
//
// ModelShape: the sizes of a decoder that decide how long a step takes, and those of published
// models.
//
// Threads: values and constants. Errors: Error("model", ...) for an unknown name, with the nearest
// one. Sources: the config.json of each model on its hub.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tandem::planner {

struct ModelShape {
  std::string name;
  int num_layers = 0;
  int width = 0;
  int q_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn_width = 0;  // of one expert, where there are experts
  int vocab_size = 0;
  int context_length = 0;
  int num_experts = 0;   // 0: dense
  int used_experts = 0;  // per token

  int head_group() const { return q_heads / kv_heads; }
  double attention_parameters() const;  // of one layer: q, k, v and output projections
  double kv_parameters() const;         // of one layer: k and v alone
  double expert_parameters() const;     // of one expert, or of the only feed-forward
  // All that a step reads once for `rows` rows: experts count by how many are expected to be used.
  double parameters_read(double rows) const;
  double parameters() const;  // all
  // Multiplications plus additions of the dense layers for one row.
  double ops_per_row() const;
};

std::span<const ModelShape> model_presets();
ModelShape model_preset(std::string_view name);

}  // namespace tandem::planner
