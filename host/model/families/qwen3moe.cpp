// SPDX-License-Identifier: Apache-2.0
//
// Qwen3-MoE: Qwen3 with experts for a feed-forward, and no shared one. The chosen experts'
// probabilities are scaled to sum to 1 unless expert_weights_norm says otherwise.
//
// Keys qwen3moe.*: expert_count, expert_used_count, expert_feed_forward_length. Tensors as in
// qwen3.cpp with ffn_gate_inp and ffn_{gate, up, down}_exps for the feed-forward.
// Source: Yang et al. 2025 (Qwen3 Technical Report).
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_qwen3moe(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.experts = read_experts(reader, reader.positive("expert_feed_forward_length"), true);
  config.rope = read_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_head_norms(reader, config, layer, tensors);
    read_expert_layer(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
