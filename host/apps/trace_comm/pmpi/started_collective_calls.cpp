// SPDX-License-Identifier: Apache-2.0
//
// The non-blocking collectives of MPI's profiling interface.
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

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  record_collective({Collective::kBroadcast, "broadcast", bytes_of(count, type), root}, comm);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Ireduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kReduce, "reduce", bytes_of(count, type), root}, comm);
  return PMPI_Ireduce(data, result, count, type, op, root, comm, request);
}

int MPI_Iallreduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kAllReduce, "allreduce", bytes_of(count, type)}, comm);
  return PMPI_Iallreduce(data, result, count, type, op, comm, request);
}

int MPI_Iscan(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kScan, "scan", bytes_of(count, type)}, comm);
  return PMPI_Iscan(data, result, count, type, op, comm, request);
}

int MPI_Iexscan(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kScan, "exscan", bytes_of(count, type)}, comm);
  return PMPI_Iexscan(data, result, count, type, op, comm, request);
}

int MPI_Igather(const void* data, int count, MPI_Datatype type, void* result, int most,
                MPI_Datatype result_type, int root, MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kGather, "gather", bytes_of(count, type), root}, comm);
  return PMPI_Igather(data, count, type, result, most, result_type, root, comm, request);
}

int MPI_Igatherv(const void* data, int count, MPI_Datatype type, void* result, const int counts[],
                 const int offsets[], MPI_Datatype result_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  record_rooted({Collective::kGather, "gather", bytes_of(count, type), root}, nullptr, type, comm);
  return PMPI_Igatherv(data, count, type, result, counts, offsets, result_type, root, comm,
                       request);
}

int MPI_Iscatter(const void* data, int count, MPI_Datatype type, void* result, int most,
                 MPI_Datatype result_type, int root, MPI_Comm comm, MPI_Request* request) {
  record_collective({Collective::kScatter, "scatter", bytes_of(count, type), root}, comm);
  return PMPI_Iscatter(data, count, type, result, most, result_type, root, comm, request);
}

int MPI_Iscatterv(const void* data, const int counts[], const int offsets[], MPI_Datatype type,
                  void* result, int most, MPI_Datatype result_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  record_rooted({Collective::kScatter, "scatter", 0, root}, counts, type, comm);
  return PMPI_Iscatterv(data, counts, offsets, type, result, most, result_type, root, comm,
                        request);
}

int MPI_Iallgather(const void* data, int count, MPI_Datatype type, void* result, int most,
                   MPI_Datatype result_type, MPI_Comm comm, MPI_Request* request) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kAllGather, "allgather", bytes_of(most, result_type) * ranks},
                    comm);
  return PMPI_Iallgather(data, count, type, result, most, result_type, comm, request);
}

int MPI_Iallgatherv(const void* data, int count, MPI_Datatype type, void* result,
                    const int counts[], const int offsets[], MPI_Datatype result_type,
                    MPI_Comm comm, MPI_Request* request) {
  record_blocks({Collective::kAllGather, "allgather"}, counts, result_type, comm);
  return PMPI_Iallgatherv(data, count, type, result, counts, offsets, result_type, comm, request);
}

int MPI_Ialltoall(const void* data, int count, MPI_Datatype type, void* result, int most,
                  MPI_Datatype result_type, MPI_Comm comm, MPI_Request* request) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kAllToAll, "alltoall", bytes_of(most, result_type) * ranks}, comm);
  return PMPI_Ialltoall(data, count, type, result, most, result_type, comm, request);
}

int MPI_Ialltoallv(const void* data, const int counts[], const int offsets[], MPI_Datatype type,
                   void* result, const int result_counts[], const int result_offsets[],
                   MPI_Datatype result_type, MPI_Comm comm, MPI_Request* request) {
  if (data != MPI_IN_PLACE) {
    record_pairs("alltoall", {counts, type, nullptr}, comm);
  } else {
    record_pairs("alltoall", {result_counts, result_type, nullptr}, comm);
  }
  return PMPI_Ialltoallv(data, counts, offsets, type, result, result_counts, result_offsets,
                         result_type, comm, request);
}

int MPI_Ialltoallw(const void* data, const int counts[], const int offsets[],
                   const MPI_Datatype types[], void* result, const int result_counts[],
                   const int result_offsets[], const MPI_Datatype result_types[], MPI_Comm comm,
                   MPI_Request* request) {
  if (data != MPI_IN_PLACE) {
    record_pairs("alltoall", {counts, MPI_DATATYPE_NULL, types}, comm);
  } else {
    record_pairs("alltoall", {result_counts, MPI_DATATYPE_NULL, result_types}, comm);
  }
  return PMPI_Ialltoallw(data, counts, offsets, types, result, result_counts, result_offsets,
                         result_types, comm, request);
}

int MPI_Ireduce_scatter(const void* data, void* result, const int counts[], MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  record_blocks({Collective::kReduceScatter, "reducescatter"}, counts, type, comm);
  return PMPI_Ireduce_scatter(data, result, counts, type, op, comm, request);
}

int MPI_Ireduce_scatter_block(const void* data, void* result, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(comm).size());
  record_collective({Collective::kReduceScatter, "reducescatter", bytes_of(count, type) * ranks},
                    comm);
  return PMPI_Ireduce_scatter_block(data, result, count, type, op, comm, request);
}

}  // extern "C"
