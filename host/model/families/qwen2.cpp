// SPDX-License-Identifier: Apache-2.0
//
// Qwen2 and Qwen2.5: Llama with biases of q, k and v, rotating (i, i + n/2).
//
// Keys qwen2.*; tensors as in llama.cpp, and blk.N.{attn_q, attn_k, attn_v}.bias.
// Source: Yang et al. 2024 (Qwen2 Technical Report).
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_qwen2(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.rope = read_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    require_biases(reader, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
