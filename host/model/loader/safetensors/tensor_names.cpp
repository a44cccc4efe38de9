// SPDX-License-Identifier: Apache-2.0
//
// The tables of tensor names.
#include "model/loader/safetensors/tensor_names.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tandem::model {
namespace {

enum class When { kAlways, kPostNorms, kNoPostNorms };

struct NamePair {
  std::string_view hub, gguf;
  When when = When::kAlways;
};

constexpr NamePair kWholeNames[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

// Of a layer, without ".weight" or ".bias".
constexpr NamePair kLayerNames[] = {
    {"input_layernorm", "attn_norm"},
    {"post_attention_layernorm", "ffn_norm", When::kNoPostNorms},
    {"post_attention_layernorm", "post_attention_norm", When::kPostNorms},
    {"pre_feedforward_layernorm", "ffn_norm", When::kPostNorms},
    {"post_feedforward_layernorm", "post_ffw_norm", When::kPostNorms},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
};

struct ExpertName {
  std::string_view before, behind, gguf;  // the expert's number is between the first two
};

constexpr ExpertName kExpertNames[] = {
    {"block_sparse_moe.experts.", ".w1", "ffn_gate."},
    {"block_sparse_moe.experts.", ".w2", "ffn_down."},
    {"block_sparse_moe.experts.", ".w3", "ffn_up."},
    {"mlp.experts.", ".gate_proj", "ffn_gate."},
    {"mlp.experts.", ".up_proj", "ffn_up."},
    {"mlp.experts.", ".down_proj", "ffn_down."},
};

constexpr std::string_view kHubLayer = "model.layers.", kGgufLayer = "blk.";

bool applies(const NamePair& pair, NameStyle style) {
  return pair.when == When::kAlways || (pair.when == When::kPostNorms) == style.has_post_norms;
}

// A number without leading zeros, so that each layer has one spelling.
bool is_number(std::string_view text) {
  const bool has_digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return has_digits && !text.empty() && text.size() <= 6 && (text.size() == 1 || text[0] != '0');
}

struct LayerTensorName {
  std::string_view layer, part, kind;  // "3", "self_attn.q_proj", ".weight"
};

std::optional<LayerTensorName> split_layer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  const std::size_t dot = name.find('.'), last = name.rfind('.');
  if (dot == std::string_view::npos || last <= dot || !is_number(name.substr(0, dot))) return {};
  const LayerTensorName parts{name.substr(0, dot), name.substr(dot + 1, last - dot - 1),
                              name.substr(last)};
  if (parts.kind != ".weight" && parts.kind != ".bias") return {};
  return parts;
}

// The text between `before` and `behind` if it is a number.
std::optional<std::string_view> number_between(std::string_view text, std::string_view before,
                                               std::string_view behind) {
  if (text.size() <= before.size() + behind.size() || !text.starts_with(before) ||
      !text.ends_with(behind)) {
    return {};
  }
  text = text.substr(before.size(), text.size() - before.size() - behind.size());
  if (!is_number(text)) return {};
  return text;
}

std::string gguf_part(std::string_view part, NameStyle style) {
  for (const NamePair& pair : kLayerNames) {
    if (pair.hub == part && applies(pair, style)) return std::string(pair.gguf);
  }
  for (const ExpertName& expert : kExpertNames) {
    if (const auto number = number_between(part, expert.before, expert.behind)) {
      return std::string(expert.gguf) + std::string(*number);
    }
  }
  return {};
}

std::string hub_part(std::string_view part, NameStyle style) {
  for (const NamePair& pair : kLayerNames) {
    if (pair.gguf == part && applies(pair, style)) return std::string(pair.hub);
  }
  for (const ExpertName& expert : kExpertNames) {
    if (const auto number = number_between(part, expert.gguf, "")) {
      return std::string(expert.before) + std::string(*number) + std::string(expert.behind);
    }
  }
  if (part.ends_with("_exps")) {
    part.remove_suffix(5);
    return hub_part(std::string(part) + ".0", style);
  }
  return {};
}

}  // namespace

std::string gguf_tensor_name(std::string_view name, NameStyle style) {
  const auto* whole = std::ranges::find(kWholeNames, name, &NamePair::hub);
  if (whole != std::end(kWholeNames)) return std::string(whole->gguf);
  const auto parts = split_layer(name, kHubLayer);
  const std::string part = parts ? gguf_part(parts->part, style) : std::string();
  if (part.empty()) return {};
  return std::string(kGgufLayer) + std::string(parts->layer) + '.' + part +
         std::string(parts->kind);
}

std::string hub_tensor_name(std::string_view gguf_name, NameStyle style) {
  const auto* whole = std::ranges::find(kWholeNames, gguf_name, &NamePair::gguf);
  if (whole != std::end(kWholeNames)) return std::string(whole->hub);
  const auto parts = split_layer(gguf_name, kGgufLayer);
  const std::string part = parts ? hub_part(parts->part, style) : std::string();
  if (part.empty()) return std::string(gguf_name);
  return std::string(kHubLayer) + std::string(parts->layer) + '.' + part + std::string(parts->kind);
}

}  // namespace tandem::model
