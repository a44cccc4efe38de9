// SPDX-License-Identifier: Apache-2.0
//
// Qwen3: Llama with an RMS norm of every query and key head before the rotation, rotating
// (i, i + n/2); no biases.
//
// Keys qwen3.*; tensors as in llama.cpp, and blk.N.{attn_q_norm, attn_k_norm}.
// Source: Yang et al. 2025 (Qwen3 Technical Report).
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_qwen3(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.rope = read_rope(reader, config);
  config.windows = read_windows(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_head_norms(reader, config, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
