// SPDX-License-Identifier: Apache-2.0
//
// Finds this process's rank in a job that mpirun, torchrun, srun, or anything that sets RANK and
// WORLD_SIZE has started.
//
// Threads: any, while nobody changes the environment. Errors: Error("train", ...) if only some of
// the variables are set, or one is not a number.
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

struct RankPlace {
  int rank = 0;
  int world = 1;
  int local_world = 1;  // ranks of this host
  bool under_mpi = false;
};

// By the environment; the first of torchrun's, Open MPI's, MPICH's and Slurm's variables.
RankPlace find_rank_place();

// Whether mpirun leaves the other ranks alone when one dies; true where it did not start them.
bool outlives_ranks(const RankPlace& place);

// "rank 2", "ranks 1, 2"
std::string list_of(const std::vector<int>& ranks);

}  // namespace tandem::apps
