// SPDX-License-Identifier: Apache-2.0
//
// Sequences in the engine, as the policy sees them.
#pragma once

#include "engine/scheduler/scheduler.h"

namespace tandem::engine {

// All tokens but the last are computed, in pages of 4 that nobody shares.
inline RunningView decoding(SequenceId id, int caller, int num_tokens = 5) {
  const int blocks = (num_tokens + 3) / 4;
  return {.id = id,
          .num_tokens = num_tokens,
          .num_computed = num_tokens - 1,
          .num_blocks = blocks,
          .num_sole = blocks,
          .caller = caller};
}

// Two callers that have had nothing.
inline constexpr CallerView kTwoCallers[2] = {};

}  // namespace tandem::engine
