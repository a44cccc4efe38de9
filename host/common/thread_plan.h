// SPDX-License-Identifier: Apache-2.0
//
// plan_threads: how many threads a pool gets and where each of them runs; a pure function of the
// machine.
//
// Order: one thread per physical core before any hyper-thread is used; nodes are filled evenly, and
// within a node its last-level caches. Threads are numbered by node, so those of a node are
// neighbours.
//
// Pin::kOn binds every thread to a processor of its own; Error when there are fewer processors than
// threads. Pin::kOff binds none, and the machine counts as one node: a thread that wanders has no
// memory of its own. Pin::kAuto is on for a pool that takes every physical core; off where threads
// are more than cores or than the quota; otherwise, on a machine of several nodes, it binds threads
// to all processors of their node, since two pools of few threads would choose the same cores.
#pragma once

#include <vector>

#include "common/processors.h"

namespace tandem {

enum class Pin { kAuto, kOn, kOff };

struct ThreadPlace {
  int node = 0;                 // in [0, num_nodes)
  std::vector<int> processors;  // what the thread is bound to; empty: not bound

  bool operator==(const ThreadPlace&) const = default;
};

struct ThreadPlan {
  std::vector<ThreadPlace> threads;  // [num_threads]
  int num_nodes = 1;                 // nodes that have a thread
  bool crowded = false;  // more threads than processors or quota: waiting threads must not spin

  bool operator==(const ThreadPlan&) const = default;
};

// num_threads: 0 means one per physical core, within the quota.
ThreadPlan plan_threads(const ProcessorLayout& machine, int num_threads, Pin pin);

}  // namespace tandem
