// SPDX-License-Identifier: Apache-2.0
//
// CommunicatorEvents: records what one rank of an NCCL communicator starts, as flows in the
// process's recorder.
//
// Collectives are modelled by the algorithm that NCCL reports. A send is counted when it is called;
// its receive is not counted again. Bytes that NCCL's network proxies send are counted separately
// and compared with the model. Threads: any. Lifetime: until the process ends, because NCCL may end
// events after their communicator.
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

  // The bytes that proxies send from one rank to another; NCCL sees it as an event.
  struct ProxyFlow {
    CommunicatorEvents* owner;
    int source, destination;  // ranks of the communicator
  };

  void collective(int rank, const nccl_profiler::CollectiveFields& fields);
  void copy_engine_collective(int rank, const nccl_profiler::CopyEngineFields& fields);
  void point_to_point(int rank, const nccl_profiler::PointToPointFields& fields);
  // Null for a receive. Returns the same flow for the same ranks.
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
