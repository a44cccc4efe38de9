// SPDX-License-Identifier: Apache-2.0
//
// The blocking collectives of MPI's profiling interface.
//
// Each function replaces MPI's function of the same name and calls PMPI's. It records before the
// call, even if MPI then refuses the call.
#include <mpi.h>

#include "apps/trace_comm/pmpi/communicators.h"
#include "apps/trace_comm/pmpi/record_calls.h"

using namespace tandem::apps;  // NOLINT: this file is nothing but entry points
namespace trace = tandem::trace;

using tandem::trace::Collective;

extern "C" {

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  record_collective({Collective::kBroadcast, "broadcast", bytes_of(count, type), root}, comm);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Reduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  record_collective({Collective::kReduce, "reduce", bytes_of(count, type), root}, comm);
  return PMPI_Reduce(data, result, count, type, op, root, comm);
}

int MPI_Allreduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  record_collective({Collective::kAllReduce, "allreduce", bytes_of(count, type)}, comm);
  return PMPI_Allreduce(data, result, count, type, op, comm);
}

int MPI_Scan(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm) {
  record_collective({Collective::kScan, "scan", bytes_of(count, type)}, comm);
  return PMPI_Scan(data, result, count, type, op, comm);
}

int MPI_Exscan(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  record_collective({Collective::kScan, "exscan", bytes_of(count, type)}, comm);
  return PMPI_Exscan(data, result, count, type, op, comm);
}

int MPI_Gather(const void* data, int count, MPI_Datatype type, void* result, int most,
               MPI_Datatype result_type, int root, MPI_Comm comm) {
  record_collective({Collective::kGather, "gather", bytes_of(count, type), root}, comm);
  return PMPI_Gather(data, count, type, result, most, result_type, root, comm);
}

int MPI_Gatherv(const void* data, int count, MPI_Datatype type, void* result, const int counts[],
                const int offsets[], MPI_Datatype result_type, int root, MPI_Comm comm) {
  record_rooted({Collective::kGather, "gather", bytes_of(count, type), root}, nullptr, type, comm);
  return PMPI_Gatherv(data, count, type, result, counts, offsets, result_type, root, comm);
}

int MPI_Scatter(const void* data, int count, MPI_Datatype type, void* result, int most,
                MPI_Datatype result_type, int root, MPI_Comm comm) {
  record_collective({Collective::kScatter, "scatter", bytes_of(count, type), root}, comm);
  return PMPI_Scatter(data, count, type, result, most, result_type, root, comm);
}

int MPI_Scatterv(const void* data, const int counts[], const int offsets[], MPI_Datatype type,
                 void* result, int most, MPI_Datatype result_type, int root, MPI_Comm comm) {
  record_rooted({Collective::kScatter, "scatter", 0, root}, counts, type, comm);
  return PMPI_Scatterv(data, counts, offsets, type, result, most, result_type, root, comm);
}

int MPI_Allgather(const void* data, int count, MPI_Datatype type, void* result, int most,
                  MPI_Datatype result_type, MPI_Comm comm) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kAllGather, "allgather", bytes_of(most, result_type) * ranks},
                    comm);
  return PMPI_Allgather(data, count, type, result, most, result_type, comm);
}

int MPI_Allgatherv(const void* data, int count, MPI_Datatype type, void* result, const int counts[],
                   const int offsets[], MPI_Datatype result_type, MPI_Comm comm) {
  record_blocks({Collective::kAllGather, "allgather"}, counts, result_type, comm);
  return PMPI_Allgatherv(data, count, type, result, counts, offsets, result_type, comm);
}

int MPI_Alltoall(const void* data, int count, MPI_Datatype type, void* result, int most,
                 MPI_Datatype result_type, MPI_Comm comm) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kAllToAll, "alltoall", bytes_of(most, result_type) * ranks}, comm);
  return PMPI_Alltoall(data, count, type, result, most, result_type, comm);
}

int MPI_Alltoallv(const void* data, const int counts[], const int offsets[], MPI_Datatype type,
                  void* result, const int result_counts[], const int result_offsets[],
                  MPI_Datatype result_type, MPI_Comm comm) {
  if (data != MPI_IN_PLACE) {
    record_pairs("alltoall", {counts, type, nullptr}, comm);
  } else {
    record_pairs("alltoall", {result_counts, result_type, nullptr}, comm);
  }
  return PMPI_Alltoallv(data, counts, offsets, type, result, result_counts, result_offsets,
                        result_type, comm);
}

int MPI_Alltoallw(const void* data, const int counts[], const int offsets[],
                  const MPI_Datatype types[], void* result, const int result_counts[],
                  const int result_offsets[], const MPI_Datatype result_types[], MPI_Comm comm) {
  if (data != MPI_IN_PLACE) {
    record_pairs("alltoall", {counts, MPI_DATATYPE_NULL, types}, comm);
  } else {
    record_pairs("alltoall", {result_counts, MPI_DATATYPE_NULL, result_types}, comm);
  }
  return PMPI_Alltoallw(data, counts, offsets, types, result, result_counts, result_offsets,
                        result_types, comm);
}

int MPI_Reduce_scatter(const void* data, void* result, const int counts[], MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
  record_blocks({Collective::kReduceScatter, "reducescatter"}, counts, type, comm);
  return PMPI_Reduce_scatter(data, result, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void* data, void* result, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kReduceScatter, "reducescatter", bytes_of(count, type) * ranks},
                    comm);
  return PMPI_Reduce_scatter_block(data, result, count, type, op, comm);
}

}  // extern "C"
