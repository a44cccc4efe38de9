// SPDX-License-Identifier: Apache-2.0
//
// ModelShape: the sizes of a decoder that decide the time of a step, with those of published
// models.
//
// Threads: values and constants. Errors: Error("model", ...) for an unknown name, with the most
// similar known name. Sources: the config.json of each model on its hub.
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
  int ffn_width = 0;  // of one expert, if there are experts
  int vocab_size = 0;
  int context_length = 0;
  int num_experts = 0;   // 0: dense
  int used_experts = 0;  // per token

  int head_group() const { return q_heads / kv_heads; }
  double attention_parameters() const;  // of one layer: projections of q, k, v and output
  double kv_parameters() const;         // of one layer: projections of k and v
  // of one expert, or of the feed-forward layer if there are no experts
  double expert_parameters() const;
  // The parameters that a step with `rows` rows reads. Experts count by the expected number of used
  // ones.
  double parameters_read(double rows) const;
  double parameters() const;  // all
  // Multiplications plus additions of the dense layers for one row.
  double ops_per_row() const;
};

std::span<const ModelShape> model_presets();
ModelShape model_preset(std::string_view name);

}  // namespace tandem::planner
