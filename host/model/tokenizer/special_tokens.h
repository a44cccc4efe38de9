// SPDX-License-Identifier: Apache-2.0
//
// SpecialTokens: finds control and user-defined tokens in text, leftmost first, longest of those.
//
// split() cuts a text into special tokens and the raw pieces between them. User-defined tokens are
// always found; control tokens only when asked for. Cost: O(text length * longest special token),
// which is bounded: texts longer than kMaxLength are never matched. Threads: immutable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

class SpecialTokens {
 public:
  static constexpr std::size_t kMaxLength = 256;

  struct Fragment {
    TokenId special = kNoToken;  // kNoToken: raw text
    std::string_view text;       // the part of the input, of either kind
  };

  SpecialTokens();
  void add(std::string_view text, TokenId id, bool is_control);
  // Calls for at least one fragment unless `text` is empty; raw fragments are never empty.
  std::vector<Fragment> split(std::string_view text, bool with_control) const;
  // Whether `text` starts with a control token's text.
  bool control_begins(std::string_view text) const;

 private:
  struct Node {                                                     // of a trie over bytes
    std::vector<std::pair<unsigned char, std::uint32_t>> children;  // sorted by byte
    TokenId id = kNoToken;
    bool is_control = false;
  };
  const Node* child(const Node& node, unsigned char byte) const;
  // The longest token at the start of `text`; its length, 0 where there is none.
  std::size_t longest(std::string_view text, bool with_control, TokenId& id) const;

  std::vector<Node> nodes_;
};

}  // namespace tandem::model
