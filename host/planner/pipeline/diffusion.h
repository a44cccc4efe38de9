// SPDX-License-Identifier: Apache-2.0
//
// diffuse: balances pipeline stages by moving boundary layers between neighbours, to the optimum.
//
// First come rounds of pairs, at odd and then at even boundaries: the heavier stage gives its
// boundary layer to the other one, if the layer is shorter than the difference and fits the memory.
// The sum of the squared stage times falls with every move, so these rounds end, but not always at
// the optimum. A bisection over a time limit then finds the optimum. For each limit, a sweep from
// the first stage to the last moves the layers that exceed the limit to the next stage, and a
// second sweep goes back. If any partition keeps the limit, two sweeps find one.
#pragma once

#include <cstdint>

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct Diffusion {
  Cuts cuts;
  std::int64_t rounds = 0;  // rounds of pairs
  std::int64_t moves = 0;   // a layer that moves by one stage counts one
};

// Pure. Throws Error if `cuts` are not valid, or if no partition keeps the memory limit.
Diffusion diffuse(const StageLoads& loads, const Cuts& cuts);

}  // namespace tandem::planner
