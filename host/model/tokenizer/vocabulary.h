// SPDX-License-Identifier: Apache-2.0
//
// Vocabulary: the tokens of a model file: their texts, kinds, scores and special roles.
//
// Read from tokenizer.ggml.*; copies what it keeps, so it outlives the file. Every id is checked to
// be inside the vocabulary, every kind to be known, every score to be a number.
// Threads: immutable. Errors: Error("gguf", ...) naming file, field and offset.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/loader/gguf/gguf_file.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

enum class TokenKind : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct Vocabulary {
  std::vector<std::string> texts;  // as the file spells them
  std::vector<TokenKind> kinds;    // [texts]
  std::vector<float> scores;       // [texts], or empty where the file has none
  TokenId bos = kNoToken, eos = kNoToken, unknown = kNoToken;
  std::vector<bool> ends_generation;  // [texts]
  // Absent: the tokenizer's own default.
  std::optional<bool> add_bos, add_eos, add_space_prefix;

  int size() const { return static_cast<int>(texts.size()); }
};

Vocabulary read_vocabulary(const GgufFile& file);

}  // namespace tandem::model
