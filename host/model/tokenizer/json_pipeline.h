// SPDX-License-Identifier: Apache-2.0
//
// JsonPipeline: the steps around the model of a tokenizer.json: normalizer, pre_tokenizer,
// post_processor and decoder.
//
// Supported: byte-level (normal form C or none; splits; ByteLevel) and SentencePiece-like (spaces
// become U+2581 by Replace or Metaspace). Everything else is an error that names the field, because
// ignoring a step would silently change ids. Threads: any; pure functions. Errors:
// Error("safetensors", "FILE: field 'normalizer.normalizers[1].type': ..."). Source: the tokenizers
// library (Hugging Face), its serialised form.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/spm_tokenizer.h"

namespace tandem::model {

struct JsonPipeline {
  bool is_byte_level = false;
  // Byte-level:
  bool composes_characters = false, prefixes_space = false;
  std::vector<Split> splits;
  // SentencePiece-like:
  SpacePrefix prefix = SpacePrefix::kNone;
  bool splits_words = false;
  // The texts of the special tokens before and after every text.
  std::vector<std::string> before, behind;
};

// `file` is for messages.
JsonPipeline read_json_pipeline(const nlohmann::json& root, const std::string& file);

}  // namespace tandem::model
