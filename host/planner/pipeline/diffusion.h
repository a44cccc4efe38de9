// SPDX-License-Identifier: Apache-2.0
//
// diffuse: balances stages by moves of boundary layers between neighbours, to the optimum.
//
// First rounds of pairs: at odd, then at even boundaries, the heavier side hands its boundary layer
// over if that layer is shorter than the difference and the memory allows it. The sum of squares
// falls with every move, so the rounds end; they may end in a slope that no pair can improve. Then
// sweeps under a limit: from the first stage to the last each hands on what exceeds the limit, and
// back again. Two sweeps keep every limit that can be kept: the first leaves each cut at or before
// the last place that greedy filling allows, and the way back never passes it. Halving of the limit
// ends at the optimum. A stage needs its own layers, what a neighbour hands over, and the limit.
#pragma once

#include <cstdint>

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct Diffusion {
  Cuts cuts;
  std::int64_t rounds = 0;  // of pairs
  std::int64_t moves = 0;   // layers that changed their stage, each time by one stage
};

// Pure. Throws Error where `cuts` are no cuts, or where no partition keeps the memory.
Diffusion diffuse(const StageLoads& loads, const Cuts& cuts);

}  // namespace tandem::planner
