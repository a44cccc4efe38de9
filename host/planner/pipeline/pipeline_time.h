// SPDX-License-Identifier: Apache-2.0
//
// step_ps: simulates one step of a pipeline under the 1F1B schedule, and returns its time.
//
// A stage runs one pass at a time: first as many forward passes as there are stages behind it, then
// forward and backward passes alternately, then the remaining backward passes. A pass begins when
// its neighbour's pass has ended; transfers are free. Threads: pure. Errors: none; needs at least
// one stage and one micro-batch. Cost: O(stages * micro-batches). Source: PipeDream with flushes,
// Narayanan et al., arXiv 2104.04473, section 2.2.
#pragma once

#include <cstdint>
#include <span>

namespace tandem::planner {

struct StagePasses {
  std::int64_t forward_ps = 0, backward_ps = 0;  // one micro-batch
};

std::int64_t step_ps(std::span<const StagePasses> stages, int num_micro_batches);

}  // namespace tandem::planner
