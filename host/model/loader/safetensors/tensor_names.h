// SPDX-License-Identifier: Apache-2.0
//
// Translates names of tensors between Transformers' modules and GGUF.
//
// "model.layers.3.self_attn.q_proj.weight" <-> "blk.3.attn_q.weight"; an expert's own tensor
// becomes "blk.3.ffn_gate.7.weight". Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

// The names whose meaning differs between families.
struct NameStyle {
  bool has_post_norms = false;  // Gemma: post_attention_layernorm comes after the attention
};

// GGUF's name; empty if `name` is unknown.
std::string gguf_tensor_name(std::string_view name, NameStyle style);
// The reverse, for messages; `gguf_name` itself if it is unknown.
std::string hub_tensor_name(std::string_view gguf_name, NameStyle style);

}  // namespace tandem::model
