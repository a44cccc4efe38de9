// SPDX-License-Identifier: Apache-2.0
//
// Gemma 2: embeddings times sqrt(width), GELU in the gate, norms also after attention and
// feed-forward, soft caps on scores and logits, a window in every second layer from the first on.
//
// Keys gemma2.*: attn_logit_softcapping and final_logit_softcapping (50 and 30 where they are
// absent, 0: none), attention.sliding_window. Tensors as in llama.cpp, and
// blk.N.{post_attention_norm, post_ffw_norm}; norms are stored with 1 added. Files lack the
// scale of the queries. It is 1/sqrt(head_dim), but 1/sqrt(width / heads) in the 27B model (46
// layers). Source: Gemma Team 2024 (Gemma 2); the models' published configurations.
#include <cmath>

#include "model/families/decoder.h"

namespace tandem::model {
namespace {

constexpr int kGemma2LayersOf27B = 46;

}  // namespace

FamilyWeights read_gemma2(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.gate = Gate::kGeluTanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (config.num_layers == kGemma2LayersOf27B) scale_by_width(reader, config);
  config.attention_softcap = reader.soft_cap("attn_logit_softcapping", 50.0f);
  config.logit_softcap = reader.soft_cap("final_logit_softcapping", 30.0f);
  config.rope = read_rope(reader, config);
  reader.positive("attention.sliding_window", kMaxContext);  // must be there
  config.windows = read_windows(reader, config, 2);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
    read_post_norms(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
