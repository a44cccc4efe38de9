// SPDX-License-Identifier: Apache-2.0
//
// Maps the ranks of a communicator to ranks of MPI_COMM_WORLD.
//
// The mapping is computed once per communicator and stored as its attribute, so MPI frees it with
// the communicator. Threads: any, as MPI allows. Only functions of the profiling interface
// (PMPI_...) are called.
#pragma once

#include <mpi.h>

#include <vector>

namespace tandem::apps {

struct CommunicatorRanks {
  std::vector<int> world;  // [ranks] for an intercommunicator: of the remote group
  int me = 0;              // the own rank in the communicator
  bool is_inter = false;

  int size() const { return static_cast<int>(world.size()); }
};

// Valid until the communicator is freed.
const CommunicatorRanks& ranks_of(MPI_Comm communicator);

// The rank in MPI_COMM_WORLD of a process of a window.
int world_rank_in(MPI_Win window, int rank);

int own_world_rank();

}  // namespace tandem::apps
