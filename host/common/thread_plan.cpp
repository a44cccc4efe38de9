// SPDX-License-Identifier: Apache-2.0
//
// Sorts the processors by preference; the threads take the first ones.
#include "common/thread_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/error.h"

namespace tandem {
namespace {

// The order of preference: first hyper-threads before second ones. Among equals the nodes take
// turns, and within a node its caches take turns.
std::vector<Processor> by_preference(const ProcessorLayout& machine) {
  struct Candidate {
    int thread, rank_in_node, rank_in_cache;
    Processor processor;
  };
  std::vector<Candidate> candidates;
  std::map<std::pair<int, int>, int> taken_of_cache;
  for (const Processor& processor : machine.processors) {
    const int rank = taken_of_cache[{processor.cache, processor.thread}]++;
    candidates.push_back({processor.thread, 0, rank, processor});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.thread, a.rank_in_cache) < std::tie(b.thread, b.rank_in_cache);
  });
  std::map<std::pair<int, int>, int> taken_of_node;
  for (Candidate& candidate : candidates) {
    candidate.rank_in_node = taken_of_node[{candidate.processor.node, candidate.thread}]++;
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.thread, a.rank_in_node, a.processor.node) <
           std::tie(b.thread, b.rank_in_node, b.processor.node);
  });
  std::vector<Processor> order;
  for (const Candidate& candidate : candidates) order.push_back(candidate.processor);
  return order;
}

enum class Binding { kNone, kNode, kProcessor };

Binding binding_of(const ProcessorLayout& machine, int num_threads, Pin pin) {
  const int processors = static_cast<int>(machine.processors.size());
  if (pin == Pin::kOff || !machine.is_this_machine) return Binding::kNone;
  if (pin == Pin::kOn) {
    if (num_threads <= processors) return Binding::kProcessor;
    throw Error("threads", std::to_string(num_threads) + " threads cannot be pinned to " +
                               std::to_string(processors) +
                               " processors; use fewer, or do not pin them");
  }
  if (num_threads > machine.num_cores || machine.quota < num_threads) return Binding::kNone;
  if (num_threads == machine.num_cores) return Binding::kProcessor;
  return machine.num_nodes > 1 ? Binding::kNode : Binding::kNone;
}

std::vector<int> processors_of_node(const ProcessorLayout& machine, int node) {
  std::vector<int> ids;
  for (const Processor& processor : machine.processors) {
    if (processor.node == node) ids.push_back(processor.id);
  }
  return ids;
}

}  // namespace

ThreadPlan plan_threads(const ProcessorLayout& machine, int num_threads, Pin pin) {
  const int processors = static_cast<int>(machine.processors.size());
  if (num_threads <= 0) {
    const double granted = std::min<double>(machine.num_cores, std::ceil(machine.quota));
    num_threads = std::max(1, static_cast<int>(granted));
  }
  ThreadPlan plan;
  plan.threads.resize(static_cast<std::size_t>(num_threads));
  plan.crowded = num_threads > processors || machine.quota < num_threads;
  const Binding binding = binding_of(machine, num_threads, pin);
  if (binding == Binding::kNone) return plan;

  std::vector<Processor> chosen = by_preference(machine);
  chosen.resize(static_cast<std::size_t>(num_threads));
  std::sort(chosen.begin(), chosen.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.node, a.cache, a.core, a.thread) <
           std::tie(b.node, b.cache, b.core, b.thread);
  });
  std::map<int, int> numbers;  // nodes without a thread get none
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const int next = static_cast<int>(numbers.size());
    plan.threads[i].node = numbers.try_emplace(chosen[i].node, next).first->second;
    plan.threads[i].processors = binding == Binding::kProcessor
                                     ? std::vector<int>{chosen[i].id}
                                     : processors_of_node(machine, chosen[i].node);
  }
  plan.num_nodes = static_cast<int>(numbers.size());
  return plan;
}

}  // namespace tandem
