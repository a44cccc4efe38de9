// SPDX-License-Identifier: Apache-2.0
//
// Mixtral: Mistral with experts as feed-forward. The probabilities of the chosen experts are scaled
// to sum to 1.
//
// Keys as in mistral.cpp, and expert_count, expert_used_count; feed_forward_length is an expert's.
// Tensors ffn_gate_inp and ffn_{gate, up, down}_exps for ffn_{gate, up, down}, under the name
// "llama" or "mixtral".
// Source: Jiang et al. 2024 (Mixtral of Experts).
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_mixtral(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.experts = read_experts(reader, reader.positive("feed_forward_length"), true);
  config.rope = read_ordered_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_expert_layer(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
