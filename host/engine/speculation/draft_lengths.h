// SPDX-License-Identifier: Apache-2.0
//
// draft_lengths(): how many tokens to guess for each sequence of a decode step.
//
// A guess is used only if all guesses before it are right, so the j-th guess of a sequence is worth
// acceptance^j tokens. The most valuable guesses are added while each one raises the tokens per
// second of the whole step. Let a step without guesses take time 1 for n tokens, and each further
// row take `share`. A row of value v then pays if v / share > tokens / time. Threads: a pure
// function. Cost: O(rows log rows).
#pragma once

#include <span>
#include <vector>

namespace tandem::engine {

struct DraftCandidate {
  double acceptance = 0;  // the probability that a guess is right if those before it are
  int most = 0;
};

// share: the time of one more row divided by the time of the step without guesses. room: the rows
// for which the step still has room. Returns one length per candidate.
std::vector<int> draft_lengths(std::span<const DraftCandidate> candidates, double share, int room);

}  // namespace tandem::engine
