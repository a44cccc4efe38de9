// SPDX-License-Identifier: Apache-2.0
//
// exact_partition: divides layers into contiguous stages so that the slowest stage is as fast as
// possible.
//
// A bisection over whole picoseconds finds the least time limit for which greedy filling needs no
// more stages and memory than allowed. Greedy filling is optimal for a given limit, and whole
// numbers need no tolerance, so the result is the optimum. Among optimal partitions the first
// stages get the most layers. Threads: pure. Errors: Error if the memory does not suffice. Cost:
// O(layers) per limit, at most 60 limits.
#pragma once

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

Cuts exact_partition(const StageLoads& loads);

// Whether any contiguous partition keeps within the memory of a stage.
bool has_partition(const StageLoads& loads);

}  // namespace tandem::planner
