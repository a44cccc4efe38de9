// SPDX-License-Identifier: Apache-2.0
//
// A thread reuses its list of flows, so a call allocates nothing.
#include "apps/trace_comm/pmpi/record_calls.h"

#include <vector>

#include "apps/trace_comm/pmpi/communicators.h"
#include "trace/communication/process_recorder.h"

namespace tandem::apps {
namespace {

constexpr const char* kPointToPoint = "mpi_point_to_point";
constexpr const char* kCollective = "mpi_collective";
constexpr const char* kOneSided = "mpi_one_sided";

void add_collective_flow(const char* operation, const CommunicatorRanks& ranks,
                         const trace::Flow& flow) {
  const auto of_world = [&ranks](int rank) {
    return rank == trace::kSwitchRank ? rank : ranks.world[static_cast<std::size_t>(rank)];
  };
  trace::process_recorder().add({kCollective, operation, of_world(flow.source),
                                 of_world(flow.destination), flow.bytes, flow.messages});
}

void record_modelled(const RecordedCall& call, const std::vector<std::uint64_t>& blocks,
                     const CommunicatorRanks& ranks) {
  thread_local std::vector<trace::Flow> flows;
  const trace::CollectiveCall modelled{
      call.collective, trace::process_algorithm(), ranks.size(), call.root, call.bytes, blocks};
  trace::model_flows(modelled, ranks.me, flows);
  for (const trace::Flow& flow : flows) add_collective_flow(call.operation, ranks, flow);
}

bool is_modelled(const CommunicatorRanks& ranks, const char* operation) {
  if (!ranks.is_inter) return true;
  trace::process_recorder().add_unmodelled(operation);
  return false;
}

}  // namespace

std::uint64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

void record_send(const char* operation, int to, std::uint64_t bytes, MPI_Comm communicator) {
  if (to < 0) return;
  const CommunicatorRanks& ranks = ranks_of(communicator);
  if (to >= ranks.size()) return;  // MPI will refuse the call
  const int destination = ranks.world[static_cast<std::size_t>(to)];
  if (destination < 0) return trace::process_recorder().add_unmodelled(operation);  // another world
  trace::process_recorder().add(
      {kPointToPoint, operation, own_world_rank(), destination, bytes, 1});
}

void record_access(const char* operation, int source, int destination, std::uint64_t bytes) {
  if (source < 0 || destination < 0) return;
  trace::process_recorder().add({kOneSided, operation, source, destination, bytes, 1});
}

void record_collective(const RecordedCall& call, MPI_Comm communicator) {
  const CommunicatorRanks& ranks = ranks_of(communicator);
  if (is_modelled(ranks, call.operation)) record_modelled(call, {}, ranks);
}

void record_blocks(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator) {
  const CommunicatorRanks& ranks = ranks_of(communicator);
  if (!is_modelled(ranks, call.operation)) return;
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < ranks.size(); ++i) blocks.push_back(bytes_of(counts[i], type));
  record_modelled(call, blocks, ranks);
}

void record_rooted(const RecordedCall& call, const int* counts, MPI_Datatype type,
                   MPI_Comm communicator) {
  const CommunicatorRanks& ranks = ranks_of(communicator);
  if (!is_modelled(ranks, call.operation)) return;
  if (call.collective == trace::Collective::kGather) return record_modelled(call, {}, ranks);
  for (int i = 0; counts != nullptr && ranks.me == call.root && i < ranks.size(); ++i) {
    if (i == ranks.me) continue;
    add_collective_flow(call.operation, ranks, {ranks.me, i, bytes_of(counts[i], type), 1});
  }
}

void record_pairs(const char* operation, const SendCounts& counts, MPI_Comm communicator) {
  const CommunicatorRanks& ranks = ranks_of(communicator);
  if (!is_modelled(ranks, operation)) return;
  for (int i = 0; i < ranks.size(); ++i) {
    if (i == ranks.me) continue;
    const MPI_Datatype type = counts.types == nullptr ? counts.type : counts.types[i];
    const std::uint64_t bytes = bytes_of(counts.counts[i], type);
    if (bytes > 0) add_collective_flow(operation, ranks, {ranks.me, i, bytes, 1});
  }
}

}  // namespace tandem::apps
