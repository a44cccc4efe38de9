// SPDX-License-Identifier: Apache-2.0
//
// draw_counts: draws many counts with a given sum, mean and spread, each within bounds.
//
// The part of a count above 1 comes from a normal distribution if the mean is at least three
// standard deviations above 0, otherwise from a log-normal one (genTen). It is rounded randomly up
// or down and clamped. Rounding and clamping change mean and deviation, so the parameters are first
// tuned on a sample. Afterwards single counts are changed in even steps until the sum is exact.
// Each block has its own random numbers, so the result is the same for any number of threads. Cost:
// about 50 ns per count. Threads: one caller; `pool` runs the blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/thread_pool.h"

namespace tandem::sparse {

struct CountRequest {
  std::uint64_t counts = 0;  // number of counts
  std::uint64_t sum = 0;     // in counts .. counts * most
  std::uint64_t most = 1;    // each count is in 1 .. most
  double cv = 0;             // standard deviation / mean
};

// [request.counts]
std::vector<std::uint32_t> draw_counts(const CountRequest& request, std::uint64_t seed,
                                       ThreadPool& pool);

}  // namespace tandem::sparse
