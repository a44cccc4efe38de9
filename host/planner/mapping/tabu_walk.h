// SPDX-License-Identifier: Apache-2.0
//
// tabu_walk: robust tabu search over exchanges of two places (Taillard 1991).
//
// Each step makes the best exchange that is allowed, even where it costs more. An exchange is
// forbidden while both tasks would return to places that they left within a random number of
// steps; one that beats the best cost so far is always allowed. Equal exchanges are drawn at
// random. Threads: pure, `random` is the caller's. Cost: O(n^2) per step.
#pragma once

#include <random>

#include "planner/mapping/quadratic_assignment.h"
#include "planner/mapping/search_stop.h"

namespace tandem::planner {

struct CostedMapping {
  Permutation places;
  std::int64_t cost = 0;
};

// The best mapping of a walk of at most `steps` from `start`.
CostedMapping tabu_walk(const QuadraticAssignment& problem, const Permutation& start,
                        std::int64_t steps, std::mt19937_64& random, SearchStop& stop);

}  // namespace tandem::planner
