// SPDX-License-Identifier: Apache-2.0
//
// Hashing, capture and replacement.
#include "cuda/queue/step_graphs.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kSeen = 512;

}  // namespace

StepGraphs::StepGraphs(Health& health, const StepGraphLimits& limits)
    : health_(health), limits_(limits), seen_(kSeen) {}

StepGraphs::~StepGraphs() {
  if (health_.lost()) return;
  for (const Graph& graph : graphs_) {
    if (graph.exec != nullptr) cudaGraphExecDestroy(graph.exec);
  }
  for (const Retired& graph : retired_) cudaGraphExecDestroy(graph.exec);
}

void StepGraphs::retire(const Graph& graph) {
  if (graph.exec == nullptr || health_.lost()) return;
  if (graph.last_position > passed_) {
    retired_.push_back({graph.exec, graph.last_position});
  } else {
    cudaGraphExecDestroy(graph.exec);
  }
}

void StepGraphs::forget() {
  for (const Graph& graph : graphs_) retire(graph);
  graphs_.clear();
  launches_ = 0;
  seen_.assign(kSeen, 0);
}

StepGraphs::Graph* StepGraphs::known(std::uint64_t hash, std::span<const std::byte> records) {
  const auto found = std::ranges::find_if(graphs_, [&](const Graph& graph) {
    return graph.hash == hash && graph.records.size() == records.size() &&
           std::memcmp(graph.records.data(), records.data(), records.size()) == 0;
  });
  return found == graphs_.end() ? nullptr : &*found;
}

bool StepGraphs::seen_before(std::uint64_t hash) {
  if (std::ranges::find(seen_, hash) != seen_.end()) return true;
  seen_[next_seen_++ % kSeen] = hash;
  return false;
}

cudaGraphExec_t StepGraphs::find(std::span<const std::byte> records, std::size_t launches,
                                 std::uint64_t position, cudaStream_t stream, Launch launch,
                                 bool overlap) {
  if (launches < limits_.min_launches || launches > limits_.max_launches) return nullptr;
  const std::uint64_t hash = XXH3_64bits(records.data(), records.size());
  if (Graph* graph = known(hash, records)) {
    graph->last_position = position;
    return graph->exec;
  }
  if (!seen_before(hash)) return nullptr;
  make_room(launches);
  Graph graph{hash, {records.begin(), records.end()}, launches, position, nullptr};
  graph.exec = capture(stream, launch, overlap);
  if (graph.exec == nullptr && overlap) graph.exec = capture(stream, launch, false);
  launches_ += launches;
  return graphs_.emplace_back(std::move(graph)).exec;
}

// Null when anything fails; the caller then launches one by one, and hears of what is wrong.
cudaGraphExec_t StepGraphs::capture(cudaStream_t stream, Launch launch, bool overlap) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
    bool launched = false;
    try {
      launched = launch(overlap) == cudaSuccess;
    } catch (const Error&) {  // of a library
    }
    const bool ended = cudaStreamEndCapture(stream, &graph) == cudaSuccess;
    if (!launched || !ended || graph == nullptr ||
        cudaGraphInstantiateWithFlags(&exec, graph, 0) != cudaSuccess) {
      exec = nullptr;
    }
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  if (exec == nullptr) cudaGetLastError();  // what follows must not find it
  return exec;
}

void StepGraphs::make_room(std::size_t launches) {
  const auto full = [&] {
    return graphs_.size() >= limits_.max_graphs || launches_ + launches > limits_.max_launches;
  };
  std::erase_if(retired_, [&](const Retired& graph) {
    if (graph.last_position > passed_) return false;
    cudaGraphExecDestroy(graph.exec);
    return true;
  });
  while (!graphs_.empty() && full()) {
    const auto oldest = std::ranges::min_element(graphs_, {}, &Graph::last_position);
    retire(*oldest);
    launches_ -= oldest->launches;
    graphs_.erase(oldest);
  }
}

}  // namespace tandem::cuda
