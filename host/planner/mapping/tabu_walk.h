// SPDX-License-Identifier: Apache-2.0
//
// tabu_walk: robust tabu search that exchanges the places of two tasks (Taillard 1991).
//
// Each step makes the best allowed exchange, even if it raises the cost. An exchange is forbidden
// if both tasks would return to places that they left within a random number of steps. An exchange
// that improves the best cost so far is always allowed. Among equal exchanges one is drawn at
// random. Threads: pure; `random` belongs to the caller. Cost: O(n^2) per step.
#pragma once

#include <random>

#include "planner/mapping/quadratic_assignment.h"
#include "planner/mapping/search_stop.h"

namespace tandem::planner {

struct CostedMapping {
  Permutation places;
  std::int64_t cost = 0;
};

// Returns the best mapping of a walk of at most `steps` from `start`.
CostedMapping tabu_walk(const QuadraticAssignment& problem, const Permutation& start,
                        std::int64_t steps, std::mt19937_64& random, SearchStop& stop);

}  // namespace tandem::planner
