// SPDX-License-Identifier: Apache-2.0
//
// annealing_walk: simulated annealing that exchanges the places of two tasks (Connolly 1990).
//
// Pairs are tried in a fixed order, sweep after sweep. The temperature falls from the size of
// typical cost differences to that of the smallest. The result is a start for tabu search; on large
// instances it is better than tabu search alone in the same time. Threads: pure; `random` belongs
// to the caller. Cost: O(n) per trial.
#pragma once

#include "planner/mapping/tabu_walk.h"

namespace tandem::planner {

CostedMapping annealing_walk(const QuadraticAssignment& problem, const Permutation& start,
                             std::int64_t sweeps, std::mt19937_64& random, SearchStop& stop);

}  // namespace tandem::planner
