// SPDX-License-Identifier: Apache-2.0
//
// Drafter: guesses the next tokens of running sequences.
//
// The engine computes the guessed tokens as further rows of the sequence's next step and keeps
// those that the model itself draws. A wrong guess therefore costs time, never a token. Threads:
// the engine's. Errors: a drafter that fails guesses nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::engine {

using model::TokenId;

// A request for guesses of the tokens that follow the known tokens of a sequence.
struct DraftWish {
  std::uint64_t id = 0;             // of the sequence
  std::span<const TokenId> tokens;  // known: the prompt, and what was generated
  int most = 0;                     // guesses, at least 1
  std::vector<TokenId> drafts;      // out: [0..most]
  int num_caught_up = 0;            // out: known tokens that the drafter computed first
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::string_view name() const = 0;
  // Fills in `drafts` of every wish. A drafter that is behind may catch up over several calls
  // instead. The known tokens of an id only grow from call to call.
  virtual void draft(std::span<DraftWish> wishes) = 0;
  // Called when the sequence has ended.
  virtual void forget(std::uint64_t id) = 0;
};

}  // namespace tandem::engine
