// SPDX-License-Identifier: Apache-2.0
//
// Replay: a drafter that knows whole texts, and errs in every fifth guess.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/speculation/drafter.h"

namespace tandem::engine {

class Replay final : public Drafter {
 public:
  explicit Replay(std::vector<std::vector<TokenId>> texts) : texts_(std::move(texts)) {}
  std::string_view name() const override { return "replay"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      for (const std::vector<TokenId>& text : texts_) {
        if (text.size() <= wish.tokens.size()) continue;
        if (!std::ranges::equal(std::span(text).first(wish.tokens.size()), wish.tokens)) continue;
        for (std::size_t i = wish.tokens.size(); i < text.size(); ++i) {
          if (static_cast<int>(wish.drafts.size()) == wish.most) break;
          wish.drafts.push_back(++num_guesses_ % 5 == 0 ? (text[i] + 1) % 7 : text[i]);
        }
        break;
      }
    }
  }
  void forget(std::uint64_t) override {}

 private:
  const std::vector<std::vector<TokenId>> texts_;
  int num_guesses_ = 0;
};

}  // namespace tandem::engine
