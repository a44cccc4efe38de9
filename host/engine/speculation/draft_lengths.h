// SPDX-License-Identifier: Apache-2.0
//
// draft_lengths(): how many tokens to guess for each sequence of a decode step.
//
// A guess is used only if all guesses before it are right, so the j-th of a sequence is worth
// acceptance^j tokens. The most valuable rows are added as long as each raises the tokens per
// second of the whole step. With `share` per row, n tokens and time 1 without guesses, a row of
// value v pays if v / share > tokens / time. Threads: a pure function. Cost: O(rows log rows).
#pragma once

#include <span>
#include <vector>

namespace tandem::engine {

struct DraftCandidate {
  double acceptance = 0;  // the probability that a guess is right if those before it are
  int most = 0;
};

// share: the time of one more row over the time of the step without guesses. room: rows that the
// step still takes. Returns a length per candidate.
std::vector<int> draft_lengths(std::span<const DraftCandidate> candidates, double share, int room);

}  // namespace tandem::engine
