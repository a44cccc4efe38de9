// SPDX-License-Identifier: Apache-2.0
//
// PromptLookup: a Drafter without a model. It finds the last tokens of a sequence at an earlier
// place of the same sequence and guesses that they continue as they did there.
//
// Useful when answers repeat their prompt: summaries, edits of a text or of source code, retrieval.
// Of several earlier places, the one with the longest equal ending wins, up to 3 tokens; then the
// latest one. Cost: O(1) per new token. Memory: about 100 bytes per token of a running sequence.
// Source: prompt lookup decoding (A. Saxena, 2023).
#pragma once

#include <array>
#include <unordered_map>

#include "engine/speculation/drafter.h"

namespace tandem::engine {

class PromptLookup final : public Drafter {
 public:
  std::string_view name() const override { return "prompt look-up"; }
  void draft(std::span<DraftWish> wishes) override;
  void forget(std::uint64_t id) override { sequences_.erase(id); }

 private:
  static constexpr int kLeast = 2, kLongest = 3;  // tokens that must be equal

  struct Index {
    // Maps the hash of kLeast + i tokens to the index of the token after their last occurrence.
    std::array<std::unordered_map<std::uint64_t, int>, kLongest - kLeast + 1> behind;
    int num_indexed = 0;  // runs that end before this token are in the index
  };

  static void grow(Index& index, std::span<const TokenId> tokens);
  static int find(const Index& index, std::span<const TokenId> tokens);

  std::unordered_map<std::uint64_t, Index> sequences_;
};

}  // namespace tandem::engine
