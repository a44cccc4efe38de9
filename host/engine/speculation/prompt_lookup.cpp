// SPDX-License-Identifier: Apache-2.0
//
// Runs of tokens are found by hash and then compared, so a collision finds nothing.
#include "engine/speculation/prompt_lookup.h"

#include <algorithm>

namespace tandem::engine {
namespace {

std::uint64_t hash_of(std::span<const TokenId> run) {
  std::uint64_t hash = 0;
  for (const TokenId token : run) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

// Adds every run that is followed by a token.
void PromptLookup::grow(Index& index, std::span<const TokenId> tokens) {
  const int num_tokens = static_cast<int>(tokens.size());
  for (int behind = std::max(index.num_indexed, kLeast); behind < num_tokens; ++behind) {
    for (int length = kLeast; length <= std::min(kLongest, behind); ++length) {
      const auto run = tokens.subspan(static_cast<std::size_t>(behind - length),
                                      static_cast<std::size_t>(length));
      index.behind[static_cast<std::size_t>(length - kLeast)][hash_of(run)] = behind;
    }
  }
  index.num_indexed = num_tokens;
}

// The index of the token that followed the last tokens at their earlier place; -1: they are new.
int PromptLookup::find(const Index& index, std::span<const TokenId> tokens) {
  for (int length = kLongest; length >= kLeast; --length) {
    const auto size = static_cast<std::size_t>(length);
    if (tokens.size() <= size) continue;
    const std::span<const TokenId> run = tokens.last(size);
    const auto& places = index.behind[static_cast<std::size_t>(length - kLeast)];
    const auto place = places.find(hash_of(run));
    if (place == places.end()) continue;
    const auto begin = static_cast<std::size_t>(place->second - length);
    if (std::ranges::equal(tokens.subspan(begin, size), run)) return place->second;
  }
  return -1;
}

void PromptLookup::draft(std::span<DraftWish> wishes) {
  for (DraftWish& wish : wishes) {
    Index& index = sequences_[wish.id];
    grow(index, wish.tokens);
    const int from = find(index, wish.tokens);
    if (from < 0) continue;
    // If the repetition is shorter than the guess, the guess repeats it.
    const std::size_t period = wish.tokens.size() - static_cast<std::size_t>(from);
    for (int i = 0; i < wish.most; ++i) {
      const std::size_t place =
          static_cast<std::size_t>(from) + static_cast<std::size_t>(i) % period;
      wish.drafts.push_back(wish.tokens[place]);
    }
  }
}

}  // namespace tandem::engine
