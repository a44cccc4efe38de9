// SPDX-License-Identifier: Apache-2.0
//
// Gemma 3 (its text part): Gemma 2 with norms of every query and key head, not soft caps. Five
// layers with a window precede one without. Layers with a window rotate by a separate base,
// unscaled.
//
// Keys gemma3.*: attention.sliding_window, rope.freq_base (1,000,000), rope.freq_base_swa (10,000),
// rope.scaling.*. Tensors as in gemma2.cpp, and blk.N.{attn_q_norm, attn_k_norm}; norms are stored
// with 1 added. The scale of the queries as in gemma2.cpp; the 27B model has 62 layers.
// Source: Gemma Team 2025 (Gemma 3 Technical Report); the models' published configurations.
#include <cmath>

#include "model/families/decoder.h"

namespace tandem::model {
namespace {

constexpr int kGemma3LayersOf27B = 62;
constexpr int kPeriod = 6;

RopeConfig read_local_rope(const CheckpointReader& reader, const ModelConfig& config) {
  RopeScalingConfig scaling = read_rope_base(reader, config);
  scaling.base = reader.positive_float("rope.freq_base_swa", 10000.0f);
  RopeConfig rope = scaled_rope(scaling);
  rope.interleaved = false;
  return rope;
}

}  // namespace

FamilyWeights read_gemma3(const Checkpoint& file, int vocab_size) {
  CheckpointReader reader(file);
  ModelConfig config = read_sizes(reader, vocab_size);
  config.ffn_width = reader.positive("feed_forward_length");
  config.gate = Gate::kGeluTanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (config.num_layers == kGemma3LayersOf27B) scale_by_width(reader, config);
  config.attention_softcap = reader.soft_cap("attn_logit_softcapping", 0.0f);
  config.logit_softcap = reader.soft_cap("final_logit_softcapping", 0.0f);
  config.rope = read_rope(reader, config, 1000000.0f);
  config.local_rope = read_local_rope(reader, config);
  reader.positive("attention.sliding_window", kMaxContext);  // must be there
  config.windows = read_windows(reader, config, kPeriod);
  auto layers = read_layers(config, [&](int layer, LayerTensors& tensors) {
    read_attention(reader, config, layer, tensors);
    read_head_norms(reader, config, layer, tensors);
    read_feed_forward(reader, config, layer, tensors);
    read_post_norms(reader, config, layer, tensors);
  });
  return finish(reader, std::move(config), std::move(layers));
}

}  // namespace tandem::model
