// SPDX-License-Identifier: Apache-2.0
//
// Mistral: Llama whose layers see a window of the last attention.sliding_window tokens.
//
// Keys and tensors as in llama.cpp, under the name "llama" or "mistral".
// Source: Jiang et al. 2023 (Mistral 7B).
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_mistral(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.rope = read_ordered_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
