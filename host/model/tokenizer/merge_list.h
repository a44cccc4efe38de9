// SPDX-License-Identifier: Apache-2.0
//
// MergeList: the pairs of tokens that byte-pair encoding merges, by rank.
//
// The rank of a pair is its position in the list; of equal pairs the first counts. Threads:
// immutable once filled.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "model/tokenizer/merge_queue.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

class MergeList {
 public:
  void reserve(std::size_t count) { merges_.reserve(count); }
  void add(TokenId left, TokenId right, TokenId merged) {
    merges_.emplace(key(left, right), Merge{rank_++, merged});
  }

  // Empty if the pair does not merge, or one side is not a token.
  std::optional<PairMerge> find(TokenId left, TokenId right) const {
    if (left == kNoToken || right == kNoToken) return {};
    const auto found = merges_.find(key(left, right));
    if (found == merges_.end()) return {};
    return PairMerge{static_cast<double>(found->second.rank), found->second.id};
  }

 private:
  struct Merge {
    std::int32_t rank;
    TokenId id;
  };
  static std::uint64_t key(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }

  std::unordered_map<std::uint64_t, Merge> merges_;
  std::int32_t rank_ = 0;
};

}  // namespace tandem::model
