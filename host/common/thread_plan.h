// SPDX-License-Identifier: Apache-2.0
//
// plan_threads: how many threads a pool has and where each of them runs. A pure function.
//
// Order: every physical core gets a thread before a hyper-thread does. Nodes are filled evenly, and
// so are the last-level caches of a node. Threads of one node have consecutive numbers.
//
// Pin::kOn binds each thread to one processor; Error with more threads than processors.
// Pin::kOff binds no thread, and the machine counts as one node, since unbound threads move.
// Pin::kAuto acts like kOn for a pool that takes every physical core, and like kOff for more
// threads than cores or than the quota. Otherwise, on several nodes, it binds a thread to all
// processors of its node: if it bound to single cores, two small pools would choose the same cores.
#pragma once

#include <vector>

#include "common/processors.h"

namespace tandem {

enum class Pin { kAuto, kOn, kOff };

struct ThreadPlace {
  int node = 0;                 // NUMA node, in [0, num_nodes)
  std::vector<int> processors;  // the thread is bound to these; empty: not bound

  bool operator==(const ThreadPlace&) const = default;
};

struct ThreadPlan {
  std::vector<ThreadPlace> threads;  // [num_threads]
  int num_nodes = 1;                 // nodes that have a thread
  bool crowded = false;              // more threads than processors or quota: threads must not spin

  bool operator==(const ThreadPlan&) const = default;
};

// num_threads: 0 means one per physical core, within the quota.
ThreadPlan plan_threads(const ProcessorLayout& machine, int num_threads, Pin pin);

}  // namespace tandem
