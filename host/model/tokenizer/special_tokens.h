// SPDX-License-Identifier: Apache-2.0
//
// SpecialTokens: finds control and user-defined tokens in text: the leftmost one, and of several at
// one place the longest.
//
// split() divides a text into special tokens and the raw pieces between them. User-defined tokens
// are always found, control tokens only on request. White space that a special token swallows is in
// no raw piece. Cost: O(text length * longest special token); special tokens longer than kMaxLength
// are never matched. Ownership: fragments borrow the text. Threads: any, after the last add().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/vocabulary.h"

namespace tandem::model {

class SpecialTokens {
 public:
  static constexpr std::size_t kMaxLength = 256;

  struct Fragment {
    TokenId special = kNoToken;           // kNoToken: raw text
    std::string_view text;                // the part of the input, of either kind
    std::string_view with_blanks = text;  // the text with the blanks that a special token swallows
  };

  SpecialTokens();
  void add(std::string_view text, TokenId id, bool is_control, SwallowedBlanks swallows = {});
  // Returns at least one fragment unless `text` is empty; raw fragments are never empty.
  std::vector<Fragment> split(std::string_view text, bool with_control) const;
  // Whether `text` starts with the text of a control token.
  bool control_begins(std::string_view text) const;

 private:
  struct Node {                                                     // of a trie over bytes
    std::vector<std::pair<unsigned char, std::uint32_t>> children;  // sorted by byte
    TokenId id = kNoToken;
    bool is_control = false;
    SwallowedBlanks swallows;
  };
  const Node* child(const Node& node, unsigned char byte) const;
  struct Match {
    const Node* token = nullptr;  // null: none
    std::size_t length = 0;
  };
  // The longest token at the start of `text`.
  Match longest(std::string_view text, bool with_control) const;

  std::vector<Node> nodes_;
};

}  // namespace tandem::model
