// SPDX-License-Identifier: Apache-2.0
//
// The collectives of topologies, and the accesses that read and write at once.
//
// The traffic to neighbours depends on the topology's order of them, so these calls are counted as
// not modelled. An access that reads and writes is two flows. Each function replaces MPI's function
// of the same name and calls PMPI's.
#include <mpi.h>

#include "apps/trace_comm/pmpi/communicators.h"
#include "apps/trace_comm/pmpi/record_calls.h"
#include "trace/communication/process_recorder.h"

using namespace tandem::apps;  // NOLINT: this file is nothing but entry points
namespace trace = tandem::trace;

namespace {

void record_neighbours(const char* operation) {
  trace::process_recorder().add_unmodelled(operation);
}

void record_exchange(const char* operation, int target, std::uint64_t sent, std::uint64_t read,
                     MPI_Win window) {
  if (target < 0) return;
  const int other = world_rank_in(window, target);
  record_access(operation, own_world_rank(), other, sent);
  record_access(operation, other, own_world_rank(), read);
}

}  // namespace

extern "C" {

int MPI_Neighbor_allgather(const void* data, int count, MPI_Datatype type, void* result, int most,
                           MPI_Datatype result_type, MPI_Comm comm) {
  record_neighbours("neighbor_allgather");
  return PMPI_Neighbor_allgather(data, count, type, result, most, result_type, comm);
}

int MPI_Neighbor_allgatherv(const void* data, int count, MPI_Datatype type, void* result,
                            const int counts[], const int offsets[], MPI_Datatype result_type,
                            MPI_Comm comm) {
  record_neighbours("neighbor_allgather");
  return PMPI_Neighbor_allgatherv(data, count, type, result, counts, offsets, result_type, comm);
}

int MPI_Neighbor_alltoall(const void* data, int count, MPI_Datatype type, void* result, int most,
                          MPI_Datatype result_type, MPI_Comm comm) {
  record_neighbours("neighbor_alltoall");
  return PMPI_Neighbor_alltoall(data, count, type, result, most, result_type, comm);
}

int MPI_Neighbor_alltoallv(const void* data, const int counts[], const int offsets[],
                           MPI_Datatype type, void* result, const int result_counts[],
                           const int result_offsets[], MPI_Datatype result_type, MPI_Comm comm) {
  record_neighbours("neighbor_alltoall");
  return PMPI_Neighbor_alltoallv(data, counts, offsets, type, result, result_counts, result_offsets,
                                 result_type, comm);
}

int MPI_Neighbor_alltoallw(const void* data, const int counts[], const MPI_Aint offsets[],
                           const MPI_Datatype types[], void* result, const int result_counts[],
                           const MPI_Aint result_offsets[], const MPI_Datatype result_types[],
                           MPI_Comm comm) {
  record_neighbours("neighbor_alltoall");
  return PMPI_Neighbor_alltoallw(data, counts, offsets, types, result, result_counts,
                                 result_offsets, result_types, comm);
}

int MPI_Ineighbor_allgather(const void* data, int count, MPI_Datatype type, void* result, int most,
                            MPI_Datatype result_type, MPI_Comm comm, MPI_Request* request) {
  record_neighbours("neighbor_allgather");
  return PMPI_Ineighbor_allgather(data, count, type, result, most, result_type, comm, request);
}

int MPI_Ineighbor_alltoall(const void* data, int count, MPI_Datatype type, void* result, int most,
                           MPI_Datatype result_type, MPI_Comm comm, MPI_Request* request) {
  record_neighbours("neighbor_alltoall");
  return PMPI_Ineighbor_alltoall(data, count, type, result, most, result_type, comm, request);
}

int MPI_Ineighbor_alltoallv(const void* data, const int counts[], const int offsets[],
                            MPI_Datatype type, void* result, const int result_counts[],
                            const int result_offsets[], MPI_Datatype result_type, MPI_Comm comm,
                            MPI_Request* request) {
  record_neighbours("neighbor_alltoall");
  return PMPI_Ineighbor_alltoallv(data, counts, offsets, type, result, result_counts,
                                  result_offsets, result_type, comm, request);
}

int MPI_Get_accumulate(const void* data, int count, MPI_Datatype type, void* result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint offset,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  record_exchange("get_accumulate", target, bytes_of(count, type),
                  bytes_of(result_count, result_type), window);
  return PMPI_Get_accumulate(data, count, type, result, result_count, result_type, target, offset,
                             target_count, target_type, op, window);
}

int MPI_Fetch_and_op(const void* data, void* result, MPI_Datatype type, int target, MPI_Aint offset,
                     MPI_Op op, MPI_Win window) {
  record_exchange("fetch_and_op", target, bytes_of(1, type), bytes_of(1, type), window);
  return PMPI_Fetch_and_op(data, result, type, target, offset, op, window);
}

int MPI_Compare_and_swap(const void* data, const void* compared, void* result, MPI_Datatype type,
                         int target, MPI_Aint offset, MPI_Win window) {
  record_exchange("compare_and_swap", target, 2 * bytes_of(1, type), bytes_of(1, type), window);
  return PMPI_Compare_and_swap(data, compared, result, type, target, offset, window);
}

}  // extern "C"
