// SPDX-License-Identifier: Apache-2.0
//
// Decoder: the parts that families share: sizes, rotation, windows, and the tensors of attention,
// feed-forward and experts under GGUF's names.
//
// A family's file combines these parts and adds its own. Every function checks the shapes of the
// tensors that it reads. Errors: those of CheckpointReader.
#pragma once

#include <string>
#include <vector>

#include "model/families/checkpoint_reader.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"

namespace tandem::model {

// Name, sizes, heads, scale of the scores, epsilon of the norms. The feed-forward width is left to
// the parts below.
ModelConfig read_sizes(const CheckpointReader& reader, int vocab_size);

// Keys rope.*: dimension_count, freq_base, scaling.{type: none, linear, yarn; factor; ...}; tensor
// rope_freqs. Pairs are (i, i + n/2).
RopeConfig read_rope(CheckpointReader& reader, const ModelConfig& config, float base = 10000.0f);
// The same; the Llama family may order the file's rows so that pairs are neighbours.
RopeConfig read_ordered_rope(CheckpointReader& reader, const ModelConfig& config);
// The parts that other scalings share: dimensions, base (`base` if the key is absent) and the
// context of the first training.
RopeScalingConfig read_rope_base(const CheckpointReader& reader, const ModelConfig& config,
                                 float base = 10000.0f);

// Scores times 1/sqrt(width / heads), unless attention.scale says otherwise.
void scale_by_width(const CheckpointReader& reader, ModelConfig& config);

// The window of every layer: attention.sliding_window for the layers that
// attention.sliding_window_pattern selects. Without a pattern: all layers except the last of every
// `period` (0: all layers). The pattern may itself be a period. Empty if no layer has a window.
std::vector<int> read_windows(const CheckpointReader& reader, const ModelConfig& config,
                              int period = 0);

// Keys expert_count, expert_used_count, expert_weights_norm; `normalise`: the default of the last
// key.
ExpertConfig read_experts(const CheckpointReader& reader, int ffn_width, bool normalise);

// read(layer, tensors) for every layer.
template <typename Read>
std::vector<LayerTensors> read_layers(const ModelConfig& config, const Read& read) {
  std::vector<LayerTensors> layers(static_cast<std::size_t>(config.num_layers));
  for (int layer = 0; layer < config.num_layers; ++layer) {
    read(layer, layers[static_cast<std::size_t>(layer)]);
  }
  return layers;
}

// "blk.3."
std::string block_name(int layer);

// attn_norm, attn_q, attn_k, attn_v and attn_output, with biases where the file has them.
void read_attention(CheckpointReader& reader, const ModelConfig& config, int layer,
                    LayerTensors& tensors);
// Refuses a layer for which read_attention() found no bias of q, k or v.
void require_biases(const CheckpointReader& reader, int layer, const LayerTensors& tensors);
// attn_q_norm and attn_k_norm.
void read_head_norms(CheckpointReader& reader, const ModelConfig& config, int layer,
                     LayerTensors& tensors);
// post_attention_norm and post_ffw_norm.
void read_post_norms(CheckpointReader& reader, const ModelConfig& config, int layer,
                     LayerTensors& tensors);
// ffn_norm, ffn_gate, ffn_up, ffn_down, of config.ffn_width.
void read_feed_forward(CheckpointReader& reader, const ModelConfig& config, int layer,
                       LayerTensors& tensors);
// ffn_norm, ffn_gate_inp, ffn_gate_exps, ffn_up_exps, ffn_down_exps.
void read_expert_layer(CheckpointReader& reader, const ModelConfig& config, int layer,
                       LayerTensors& tensors);

// Reads embedding, output norm and output, computes the totals, and refuses unused tensors. A
// family calls it last.
FamilyWeights finish(CheckpointReader& reader, ModelConfig config,
                     std::vector<LayerTensors> layers);

}  // namespace tandem::model
