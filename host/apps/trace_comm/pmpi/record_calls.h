// SPDX-License-Identifier: Apache-2.0
//
// Records each MPI call as flows of the recorder.
//
// Point-to-point and one-sided calls are recorded exactly, by the process that sends or reads.
// Collectives are modelled (collective_model.h), because a preloaded library cannot see the
// messages inside them. Calls on intercommunicators are counted as not modelled. MPI_PROC_NULL
// moves no bytes. Threads: any.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "trace/communication/collective_model.h"

namespace tandem::apps {

std::uint64_t bytes_of(std::int64_t count, MPI_Datatype type);

void record_send(const char* operation, int to, std::uint64_t bytes, MPI_Comm communicator);

// `source` and `destination` are ranks of MPI_COMM_WORLD.
void record_access(const char* operation, int source, int destination, std::uint64_t bytes);

struct RecordedCall {
  trace::Collective collective;
  const char* operation;
  std::uint64_t bytes = 0;  // as in CollectiveCall
  int root = 0;
};

void record_collective(const RecordedCall& call, MPI_Comm communicator);

// For all-gather and reduce-scatter with a count per rank.
void record_blocks(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator);

// For gather (the own block goes to the root) and scatter (the root's blocks go to all). `counts`:
// only on the root of a scatter, else null.
void record_rooted(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator);

// The counts of an all-to-all, with one type or one type per rank.
struct SendCounts {
  const int* counts;
  MPI_Datatype type;  // used if types is null
  const MPI_Datatype* types;
};
void record_pairs(const char* operation, const SendCounts& counts, MPI_Comm communicator);

}  // namespace tandem::apps
