// SPDX-License-Identifier: Apache-2.0
//
// Finds this process's rank in a job that was started by mpirun, torchrun, srun, or any launcher
// that sets RANK and WORLD_SIZE.
//
// Threads: any, while no thread changes the environment. Errors: Error("train", ...) if only some
// of the variables are set, or one is not a number.
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

struct RankPlace {
  int rank = 0;
  int world = 1;
  int local_world = 1;  // number of ranks on this host
  bool under_mpi = false;
};

// Reads the environment: the first of the variables of torchrun, Open MPI, MPICH and Slurm.
RankPlace find_rank_place();

// Whether the other ranks continue if one dies. False if mpirun would end them; true without
// mpirun.
bool outlives_ranks(const RankPlace& place);

// "rank 2", "ranks 1, 2"
std::string list_of(const std::vector<int>& ranks);

}  // namespace tandem::apps
