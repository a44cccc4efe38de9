// SPDX-License-Identifier: Apache-2.0
//
// Vocabulary: the tokens of a model: their texts, kinds, scores and special roles.
//
// Plain data, filled by the reader of a format (read_tokenizer.h, tokenizer_json.h), which checks
// that every id is inside the vocabulary and every score a number. Threads: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

// White space next to a special token that is part of the token.
struct SwallowedBlanks {
  bool before = false, behind = false;
};

inline constexpr std::size_t kMaxTokens = std::size_t{1} << 26;  // limit for any file

struct Vocabulary {
  std::vector<std::string> texts;  // as the file spells them
  std::vector<TokenKind> kinds;    // [texts]
  std::vector<float> scores;       // [texts], or empty if the file has none
  TokenId bos = kNoToken, eos = kNoToken, unknown = kNoToken;
  bool adds_bos = false, adds_eos = false;                // to every text, if the token exists
  std::vector<bool> ends_generation;                      // [texts]
  std::unordered_map<TokenId, SwallowedBlanks> swallows;  // of few tokens

  int size() const { return static_cast<int>(texts.size()); }
};

// Marks tokens whose texts are known to end a turn or a text: they end generation and are not
// shown.
void mark_known_ends(Vocabulary& vocabulary);

}  // namespace tandem::model
