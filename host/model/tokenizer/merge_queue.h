// SPDX-License-Identifier: Apache-2.0
//
// merge_pairs: byte-pair merging in the order of priority, for both tokenizers.
//
// Symbols form a doubly linked list. A priority queue holds the candidate pairs, best key first,
// leftmost on a tie. A candidate whose symbols have changed is dropped when it reaches the top.
// Cost: O(n log n) for n symbols of any text. Threads: no shared state.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

struct Symbol {
  std::string_view text;  // a slice of the input; empty: merged into its left neighbour
  TokenId id = kNoToken;
  std::int32_t previous = -1, next = -1;
};

struct PairMerge {
  double key = 0;  // smaller merges first
  TokenId id = kNoToken;
};

// Merges `symbols`, whose texts are adjacent in one string, until find(left, right) finds no more
// pairs; find returns optional<PairMerge>. The symbols keep their order. A symbol that was merged
// into its left neighbour has an empty text.
template <typename Find>
void merge_pairs(std::vector<Symbol>& symbols, const Find& find) {
  struct Candidate {
    double key;
    std::int32_t left, right;
    std::size_t length;  // of both texts when it was found
    TokenId id;
    bool operator<(const Candidate& other) const {  // the queue's top is its largest
      return key != other.key ? key > other.key : left > other.left;
    }
  };
  std::priority_queue<Candidate> queue;
  const auto at = [&](std::int32_t index) -> Symbol& {
    return symbols[static_cast<std::size_t>(index)];
  };
  const auto consider = [&](std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    if (const std::optional<PairMerge> merge = find(at(left), at(right))) {
      queue.push(
          {merge->key, left, right, at(left).text.size() + at(right).text.size(), merge->id});
    }
  };
  const auto count = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t index = 0; index < count; ++index) {
    at(index).previous = index - 1;
    at(index).next = index + 1 < count ? index + 1 : -1;
  }
  for (std::int32_t index = 0; index + 1 < count; ++index) consider(index, index + 1);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = at(best.left);
    Symbol& right = at(best.right);
    if (left.text.empty() || right.text.empty() || left.next != best.right ||
        left.text.size() + right.text.size() != best.length) {
      continue;
    }
    left.text = {left.text.data(), best.length};
    left.id = best.id;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.left;
    right.text = {};
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
}

}  // namespace tandem::model
