// SPDX-License-Identifier: Apache-2.0
//
// search_permutation: finds a mapping of low cost by direct search.
//
// With up to eight tasks it tries all mappings, and the result is the optimum. With more, every
// thread repeats rounds until the deadline: simulated annealing from a random mapping, then tabu
// walks. Each walk starts from the best mapping of the round with some tasks exchanged; their
// number grows while nothing improves (iterated tabu search). Rounds with short walks and small
// disturbances alternate with rounds of long walks. Threads have their own random numbers
// and share nothing. The best result wins, then the lowest thread number. Errors: only those of the
// problem.
#pragma once

#include "planner/mapping/search_stop.h"
#include "planner/mapping/tabu_walk.h"

namespace tandem::planner {

struct SearchOptions {
  Deadline deadline = Deadline::never();
  std::int64_t most_steps = kNoStepLimit;  // per thread; steps of tabu search, or rows of annealing
  std::uint64_t seed = 1;
  int num_threads = 1;
};

CostedMapping search_permutation(const QuadraticAssignment& problem, const SearchOptions& options);

// Returns a uniformly random mapping.
Permutation random_permutation(int num_tasks, std::mt19937_64& random);

}  // namespace tandem::planner
