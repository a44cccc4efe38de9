// SPDX-License-Identifier: Apache-2.0
//
// DecoderConfig: the sizes of a decoder to train from scratch, read from a file.
//
// TOML: layers, width, heads, kv_heads, head_dim, ffn, experts, experts_used, context, rope_base,
// norm_epsilon, tied, name, description, license, tokenizer (a path relative to the file, or
// "bytes"). JSON: the fields of a published LlamaForCausalLM's config.json. Threads: any; pure
// functions. Errors: Error("train", "FILE: field 'width': ...") for a field that is unknown,
// missing or out of range.
#pragma once

#include <string>

namespace tandem::training {

struct DecoderConfig {
  std::string name = "tandem";
  std::string description, license;  // for the exported file; empty: none
  int layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, context = 0;
  int experts = 0, experts_used = 2;  // 0: the feed-forward is dense
  double rope_base = 10000, norm_epsilon = 1e-5;
  bool tied = true;
  std::string tokenizer = "bytes";
};

DecoderConfig read_decoder_config(const std::string& path);

}  // namespace tandem::training
