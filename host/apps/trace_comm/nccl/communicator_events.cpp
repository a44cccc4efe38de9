// SPDX-License-Identifier: Apache-2.0
//
// NCCL reports the elements that a rank passes: for all-gather and reduce-scatter, one block.
#include "apps/trace_comm/nccl/communicator_events.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "trace/communication/collective_model.h"
#include "trace/communication/process_recorder.h"

namespace tandem::apps {
namespace {

using trace::Collective;

constexpr const char* kNcclCollective = "nccl_collective";
constexpr const char* kNcclPointToPoint = "nccl_point_to_point";

// "ncclFloat16" -> 2; 0: unknown.
std::uint64_t type_bytes(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  if (text.find("8") != std::string_view::npos) return 1;  // Int8, Uint8, Float8e4m3, Float8e5m2
  if (text.ends_with("16")) return 2;
  if (text.ends_with("32")) return 4;
  return text.ends_with("64") ? 8 : 0;
}

bool has_blocks(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
         collective == Collective::kAllToAll;
}

// A call whose names have been read.
struct NamedCall {
  std::string function, algorithm;
  bool is_known = false;
  Collective collective = Collective::kAllReduce;
  trace::CollectiveAlgorithm model = trace::CollectiveAlgorithm::kRing;
};

// Programs repeat their calls, so the names of a thread's last one are kept.
const NamedCall& named_call(std::string_view function, std::string_view algorithm) {
  thread_local NamedCall last;
  if (last.function == function && last.algorithm == algorithm && last.is_known) return last;
  last.function = function;
  last.algorithm = algorithm;
  last.is_known = trace::parse_collective(function, last.collective);
  last.model = trace::process_algorithm();
  trace::parse_algorithm(algorithm, last.model);
  return last;
}

}  // namespace

void CommunicatorEvents::collective(int rank, const nccl_profiler::CollectiveFields& fields) {
  add_collective(rank, fields.function, fields.algorithm, fields.root,
                 fields.count * type_bytes(fields.datatype));
}

void CommunicatorEvents::copy_engine_collective(int rank,
                                                const nccl_profiler::CopyEngineFields& fields) {
  add_collective(rank, fields.function, "direct", fields.root,
                 fields.count * type_bytes(fields.datatype));
}

void CommunicatorEvents::add_collective(int rank, const char* function, const char* algorithm,
                                        int root, std::uint64_t bytes_of_rank) {
  const NamedCall& named =
      named_call(function == nullptr ? "" : function, algorithm == nullptr ? "" : algorithm);
  if (!named.is_known) return trace::process_recorder().add_unmodelled("nccl_unknown");
  trace::CollectiveCall call{};
  call.collective = named.collective;
  call.algorithm = named.model;
  call.ranks = ranks_.size();
  call.root = root;
  call.bytes = has_blocks(call.collective) ? bytes_of_rank * call.ranks : bytes_of_rank;
  std::vector<trace::Flow> flows;
  trace::model_flows(call, rank, flows);
  for (trace::Flow& flow : flows) {
    for (int* end : {&flow.source, &flow.destination}) {
      if (*end == trace::kSwitchRank) continue;
      const auto number = ranks_.world_rank(*end);
      if (!number) return trace::process_recorder().add_unmodelled(name_of(call.collective));
      *end = *number;
    }
  }
  for (const trace::Flow& flow : flows) {
    trace::process_recorder().add({kNcclCollective, name_of(call.collective), flow.source,
                                   flow.destination, flow.bytes, flow.messages});
  }
}

void CommunicatorEvents::point_to_point(int rank, const nccl_profiler::PointToPointFields& fields) {
  if (fields.function == nullptr || std::strcmp(fields.function, "Send") != 0) return;
  const auto source = ranks_.world_rank(rank), destination = ranks_.world_rank(fields.peer);
  if (!source || !destination) return trace::process_recorder().add_unmodelled("send");
  trace::process_recorder().add({kNcclPointToPoint, "send", *source, *destination,
                                 fields.count * type_bytes(fields.datatype)});
}

CommunicatorEvents::ProxyFlow* CommunicatorEvents::proxy_flow(
    int rank, const nccl_profiler::ProxyOperationFields& fields) {
  if (fields.is_send == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return &flows_.try_emplace({rank, fields.peer}, ProxyFlow{this, rank, fields.peer}).first->second;
}

void CommunicatorEvents::proxy_sent(const ProxyFlow& flow, std::uint64_t bytes) {
  const auto source = ranks_.world_rank(flow.source);
  const auto destination = ranks_.world_rank(flow.destination);
  if (!source || !destination) return;
  trace::process_recorder().add_counted({"transport", "proxy", *source, *destination, bytes});
}

}  // namespace tandem::apps
