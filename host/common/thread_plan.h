// SPDX-License-Identifier: Apache-2.0
//
// plan_threads: how many threads a pool gets and where each of them runs; a pure function of the
// machine.
//
// Order: one thread per physical core before any hyper-thread is used; nodes are filled evenly, and
// within a node its last-level caches. Threads are numbered by node, so those of a node are
// neighbours. Binding (Pin):
//   on    every thread to a processor of its own; Error when there are fewer processors than
//   threads off   none, and the machine counts as one node: a thread that wanders has no memory of
//   its own auto  as on when the pool takes every physical core; to the processors of its node when
//   it takes
//         fewer on a machine of several nodes (two such pools would choose the same cores); off
//         when there are more threads than cores, or a quota below the number of threads
#pragma once

#include <vector>

#include "common/topology.h"

namespace tandem {

enum class Pin { kAuto, kOn, kOff };

struct ThreadPlace {
  int node = 0;                 // in [0, num_nodes)
  std::vector<int> processors;  // what the thread is bound to; empty: not bound
};

struct ThreadPlan {
  std::vector<ThreadPlace> threads;  // [num_threads]
  int num_nodes = 1;                 // nodes that have a thread
  bool crowded = false;  // more threads than processors or quota: waiting threads must not spin
};

// num_threads: 0 means one per physical core, within the quota.
ThreadPlan plan_threads(const Topology& machine, int num_threads, Pin pin);

}  // namespace tandem
