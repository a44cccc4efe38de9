// SPDX-License-Identifier: Apache-2.0
//
// step_ps: how long one step of a pipeline takes under the 1F1B schedule, event by event.
//
// A stage runs one pass at a time: first as many forward passes as there are stages behind it, then
// one forward and one backward pass in turn, then the remaining backward passes. A pass begins when
// its neighbour has handed on what it needs; transfers cost nothing here. Threads: pure. Errors:
// none; at least one stage and one micro-batch. Cost: O(stages * micro-batches). Source: PipeDream
// with flushes, Narayanan et al., arXiv 2104.04473, section 2.2.
#pragma once

#include <cstdint>
#include <span>

namespace tandem::planner {

struct StagePasses {
  std::int64_t forward_ps = 0, backward_ps = 0;  // of one micro-batch
};

std::int64_t step_ps(std::span<const StagePasses> stages, int num_micro_batches);

}  // namespace tandem::planner
