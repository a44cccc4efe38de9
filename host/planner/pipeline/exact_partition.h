// SPDX-License-Identifier: Apache-2.0
//
// exact_partition: the contiguous stages whose slowest one is as fast as possible.
//
// A parametric search: halving on whole picoseconds finds the least limit that greedy filling keeps
// with the stages and the memory there are. Greedy filling is optimal for a given limit, and whole
// numbers need no tolerance, so the result is the optimum. Among optimal partitions the first
// stages take the most layers. Threads: pure. Errors: Error where the memory does not suffice.
// Cost: O(layers) per halving, at most 60 halvings.
#pragma once

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

Cuts exact_partition(const StageLoads& loads);

}  // namespace tandem::planner
