// SPDX-License-Identifier: Apache-2.0
//
// How each call of MPI becomes flows of the recorder.
//
// Point-to-point and one-sided calls are recorded as they are, by the process that sends or reads.
// Collectives are modelled, because the wire cannot be seen from here (collective_model.h); calls
// on intercommunicators are counted as not modelled. MPI_PROC_NULL moves nothing. Threads: any.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "trace/communication/collective_model.h"

namespace tandem::apps {

std::uint64_t bytes_of(std::int64_t count, MPI_Datatype type);

void record_send(const char* operation, int to, std::uint64_t bytes, MPI_Comm communicator);

// From `source` to `destination`, ranks of MPI_COMM_WORLD.
void record_access(const char* operation, int source, int destination, std::uint64_t bytes);

struct RecordedCall {
  trace::Collective collective;
  const char* operation;
  std::uint64_t bytes = 0;  // as CollectiveCall has them
  int root = 0;
};

void record_collective(const RecordedCall& call, MPI_Comm communicator);

// All-gather and reduce-scatter with a count per rank.
void record_blocks(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator);

// The own block goes to the root (gather) or the root's blocks to all (scatter). `counts`: of the
// root's scatter, else null.
void record_rooted(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator);

// All-to-all with counts, of one type or one per rank.
struct SendCounts {
  const int* counts;
  MPI_Datatype type;  // where types is null
  const MPI_Datatype* types;
};
void record_pairs(const char* operation, const SendCounts& counts, MPI_Comm communicator);

}  // namespace tandem::apps
