// SPDX-License-Identifier: Apache-2.0
//
// search_permutation: the direct search for a mapping of least cost.
//
// Up to eight tasks all mappings are tried, and the result is the optimum. Beyond, every thread
// repeats rounds until the time is over: simulated annealing from a random mapping, then tabu walks
// from the best mapping of the round with some tasks exchanged; a part that grows while nothing
// improves (iterated tabu search). Threads have random numbers of their own and share nothing; the
// best of them wins, ties by number. Errors: none beyond those of the problem.
#pragma once

#include "planner/mapping/search_stop.h"
#include "planner/mapping/tabu_walk.h"

namespace tandem::planner {

struct SearchOptions {
  Deadline deadline = Deadline::never();
  std::int64_t most_steps = kNoStepLimit;  // per thread; of tabu search, or rows of annealing
  std::uint64_t seed = 1;
  int num_threads = 1;
};

CostedMapping search_permutation(const QuadraticAssignment& problem, const SearchOptions& options);

// A uniform random mapping.
Permutation random_permutation(int num_tasks, std::mt19937_64& random);

}  // namespace tandem::planner
