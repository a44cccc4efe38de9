// SPDX-License-Identifier: Apache-2.0
//
// Names of tensors: those of Transformers' modules <-> GGUF's.
//
// "model.layers.3.self_attn.q_proj.weight" <-> "blk.3.attn_q.weight"; an expert's own tensor
// becomes "blk.3.ffn_gate.7.weight". Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

// Which of two meanings names that families share have.
struct NameStyle {
  bool has_post_norms = false;  // Gemma: post_attention_layernorm comes after the attention
};

// GGUF's name; empty if `name` is unknown.
std::string gguf_tensor_name(std::string_view name, NameStyle style);
// The reverse, for messages; the name itself where it is not known.
std::string hub_tensor_name(std::string_view gguf_name, NameStyle style);

}  // namespace tandem::model
