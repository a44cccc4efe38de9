// SPDX-License-Identifier: Apache-2.0
//
// draw_counts: many counts with a stated sum, mean and spread, each within bounds.
//
// Counts come from a normal distribution where the mean lies three standard deviations above 0,
// else from a log-normal one (genTen). What lies above 1 is drawn, rounded at random to a
// neighbouring integer and clamped; mean and deviation before that are tuned on a sample, so that
// those after it are as asked. Then single counts are changed by even steps until the sum is exact.
// Drawn in blocks, each with its own random numbers: the result is the same for any number of
// threads. Cost: about 50 ns for a count. Threads: one caller; `pool` runs the blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/thread_pool.h"

namespace tandem::sparse {

struct CountRequest {
  std::uint64_t counts = 0;  // how many
  std::uint64_t sum = 0;     // in counts .. counts * most
  std::uint64_t most = 1;    // each count is in 1 .. most
  double cv = 0;             // standard deviation / mean
};

// [request.counts]
std::vector<std::uint32_t> draw_counts(const CountRequest& request, std::uint64_t seed,
                                       ThreadPool& pool);

}  // namespace tandem::sparse
