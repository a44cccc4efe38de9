// SPDX-License-Identifier: Apache-2.0
//
// Splits preprocessed C++ into tokens, in as much detail as the search for statements needs.
//
// Comments and blanks are dropped. A directive (a `#` line with its continuations), a string
// literal (raw ones too) and a character literal are one token each. `::` and `->` are one token;
// other punctuation is one token per character. Never fails: an unclosed literal ends with the
// text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tandem::xclbin {

enum class TokenKind { kWord, kLiteral, kDirective, kPunctuation };

struct Token {
  TokenKind kind;
  size_t begin;
  size_t end;
};

std::vector<Token> tokenize(std::string_view text);

constexpr size_t kNoPartner = static_cast<size_t>(-1);

// For each bracket of () [] {} the index of its partner, kNoPartner for other tokens. Empty when
// the brackets do not match.
std::vector<size_t> match_brackets(std::string_view text, const std::vector<Token>& tokens);

}  // namespace tandem::xclbin
