// SPDX-License-Identifier: Apache-2.0
//
// StepGraphs: repeated sequences of launches as CUDA graphs.
//
// A sequence is the bytes of its launch records (queue.h): functions, arguments and addresses. At
// its first occurrence only its hash is kept; at the second it is captured, if it is long enough;
// from then on one launch runs it. Sequences are equal when their bytes are, not only their hashes.
// A sequence that cannot be captured is always launched one by one; if a driver cannot capture
// launches that overlap, the graph's launches do not overlap. The least recently launched graphs
// are dropped when there are too many graphs or launches. Threads: the queue's. Cost: a hash and a
// comparison of the records; capture takes some 10 us per launch, once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/function_ref.h"
#include "cuda/runtime/health.h"

namespace tandem::cuda {

struct StepGraphLimits {
  std::size_t min_launches = 8;        // shorter sequences do not become graphs
  std::size_t max_graphs = 256;        // a model with cards at its layers has one per layer
  std::size_t max_launches = 1 << 15;  // of all graphs
};

class StepGraphs {
 public:
  StepGraphs(Health& health, const StepGraphLimits& limits);
  ~StepGraphs();
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;

  // The graph of a sequence of `launches` launches, to be launched at position `position` of the
  // queue; or null: launch one by one. `launch` launches them on the stream, for capture; its
  // argument says whether the launches may overlap.
  using Launch = FunctionRef<cudaError_t(bool overlap)>;
  cudaGraphExec_t find(std::span<const std::byte> records, std::size_t launches,
                       std::uint64_t position, cudaStream_t stream, Launch launch, bool overlap);

  // Positions up to this one are done: graphs launched there may be destroyed.
  void passed(std::uint64_t position) { passed_ = position; }

  // Call before an object is destroyed whose host address is in records (a weight, a unit). A new
  // object at the same address would give equal records for different launches.
  void forget();

  std::size_t size() const { return graphs_.size(); }

 private:
  struct Graph {
    std::uint64_t hash = 0;
    std::vector<std::byte> records;
    std::size_t launches = 0;
    std::uint64_t last_position = 0;
    cudaGraphExec_t exec = nullptr;  // null: it cannot be captured
  };

  Graph* known(std::uint64_t hash, std::span<const std::byte> records);
  bool seen_before(std::uint64_t hash);
  cudaGraphExec_t capture(cudaStream_t stream, Launch launch, bool overlap);
  void make_room(std::size_t launches);
  void retire(const Graph& graph);

  Health& health_;
  const StepGraphLimits limits_;
  std::vector<Graph> graphs_;
  // A graph that was dropped while it may have been running.
  struct Retired {
    cudaGraphExec_t exec;
    std::uint64_t last_position;
  };
  std::vector<Retired> retired_;
  std::size_t launches_ = 0;         // of all graphs
  std::vector<std::uint64_t> seen_;  // hashes of sequences seen once, the oldest overwritten
  std::size_t next_seen_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace tandem::cuda
