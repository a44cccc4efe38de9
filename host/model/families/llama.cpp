// SPDX-License-Identifier: Apache-2.0
//
// The Llama family: RMSNorm, grouped-query attention with RoPE, SwiGLU, tied or separate output;
// optional biases of q, k, v and o.
//
// Keys llama.*; tensors token_embd, blk.N.{attn_norm, attn_q, attn_k, attn_v, attn_output,
// ffn_norm, ffn_gate, ffn_up, ffn_down}, output_norm, output, rope_freqs. GGUF gives Mistral and
// Mixtral the same name: a window or experts tell them.
// Source: Touvron et al. 2023; Grattafiori et al. 2024 (Llama 3); the GGUF specification.
#include "model/families/decoder.h"

namespace tandem::model {

FamilyWeights read_llama(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  if (file.get_u32(reader.key("expert_count")).value_or(0) > 0) {
    return read_mixtral(file, vocab_size);
  }
  if (reader.has("attention.sliding_window")) return read_mistral(file, vocab_size);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.rope = read_ordered_rope(reader, config);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
