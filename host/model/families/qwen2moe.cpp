// SPDX-License-Identifier: Apache-2.0
//
// Qwen1.5-MoE and Qwen2-MoE: Qwen2 with experts and a shared expert that counts
// sigmoid(shared_gate x). The chosen experts keep their probabilities.
//
// Keys qwen2moe.*: expert_count, expert_used_count, expert_feed_forward_length,
// expert_shared_feed_forward_length. Tensors as in qwen2.cpp with ffn_gate_inp,
// ffn_{gate, up, down}_exps, ffn_gate_inp_shexp and ffn_{gate, up, down}_shexp for the
// feed-forward. Source: Yang et al. 2024 (Qwen2 Technical Report).
#include "model/families/decoder.h"

namespace tandem::model {
namespace {

void read_shared_expert(CheckpointReader& reader, const ModelConfig& config, int layer,
                        LayerTensors& tensors) {
  const std::string block = block_name(layer);
  const std::int64_t width = config.width, ffn = config.ffn_width;
  tensors.shared_gate = reader.vector(block + "ffn_gate_inp_shexp.weight", width);
  tensors.gate = reader.matrix(block + "ffn_gate_shexp.weight", ffn, width);
  tensors.up = reader.matrix(block + "ffn_up_shexp.weight", ffn, width);
  tensors.down = reader.matrix(block + "ffn_down_shexp.weight", width, ffn);
}

}  // namespace

FamilyWeights read_qwen2moe(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("expert_shared_feed_forward_length");
  config.experts = read_experts(reader, reader.positive("expert_feed_forward_length"), false);
  config.rope = read_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    require_biases(reader, layer, tensors);
    read_expert_layer(reader, config, layer, tensors);
    read_shared_expert(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
