// SPDX-License-Identifier: Apache-2.0
//
// annealing_walk: simulated annealing over exchanges of two places (Connolly 1990).
//
// Pairs are tried in a fixed order, sweep after sweep, while the temperature falls from the size of
// typical differences to that of the smallest. A start for tabu search: on large instances it comes
// nearer in the same time. Threads: pure, `random` is the caller's. Cost: O(n) per trial.
#pragma once

#include "planner/mapping/tabu_walk.h"

namespace tandem::planner {

CostedMapping annealing_walk(const QuadraticAssignment& problem, const Permutation& start,
                             std::int64_t sweeps, std::mt19937_64& random, SearchStop& stop);

}  // namespace tandem::planner
