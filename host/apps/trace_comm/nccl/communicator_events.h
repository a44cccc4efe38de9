// SPDX-License-Identifier: Apache-2.0
//
// CommunicatorEvents: what one rank of a communicator of NCCL starts, as flows of the process's
// recorder.
//
// Collectives are modelled by the algorithm that NCCL names. Sends are counted where they are
// called; their receives are the same bytes. What NCCL's network proxies send is counted apart: it
// is compared with the model. Threads: any. Lifetime: until the process ends, because NCCL may stop
// events after it has ended their communicator.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "apps/trace_comm/nccl/communicator_ranks.h"
#include "apps/trace_comm/nccl/profiler_interface.h"

namespace tandem::apps {

class CommunicatorEvents {
 public:
  CommunicatorEvents(std::uint64_t id, int rank, int ranks) : ranks_(id, rank, ranks) {}

  // What proxies send from one rank to another: an event of NCCL.
  struct ProxyFlow {
    CommunicatorEvents* owner;
    int source, destination;  // ranks of the communicator
  };

  void collective(int rank, const nccl_profiler::CollectiveFields& fields);
  void copy_engine_collective(int rank, const nccl_profiler::CopyEngineFields& fields);
  void point_to_point(int rank, const nccl_profiler::PointToPointFields& fields);
  // Null for a receive. The same flow for the same ranks.
  ProxyFlow* proxy_flow(int rank, const nccl_profiler::ProxyOperationFields& fields);
  void proxy_sent(const ProxyFlow& flow, std::uint64_t bytes);

 private:
  void add_collective(int rank, const char* function, const char* algorithm, int root,
                      std::uint64_t bytes_of_rank);

  CommunicatorRanks ranks_;
  std::mutex mutex_;  // guards flows_
  std::map<std::pair<int, int>, ProxyFlow> flows_;
};

}  // namespace tandem::apps
