// SPDX-License-Identifier: Apache-2.0
//
// improve_placement: local search that moves nodes of the chain that determines the makespan.
//
// The chain starts at the node that ends last. It goes back to the producer whose tensor arrived
// last, or to the previous node on the device. If a tensor crosses devices, one end moves to the
// device of the other; if the device was busy, one of the two nodes leaves. A move takes one unit,
// or a run of nodes of its linear cluster on the same device. Slightly worse schedules are accepted
// for a while, fewer later in the search. Schedules that exceed the memory are rejected. Threads:
// pure; the same seed gives the same placement. Cost: one evaluation per step.
#pragma once

#include "planner/graph/schedule.h"
#include "planner/partition/linear_clusters.h"

namespace tandem::planner {

struct ImproveOptions {
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
};

// `start` must keep the memory limit. The result is never worse.
Placement improve_placement(const OperatorGraph& graph, const DeviceLinks& links,
                            const LinearClusters& clusters, const Placement& start,
                            const ImproveOptions& options);

}  // namespace tandem::planner
