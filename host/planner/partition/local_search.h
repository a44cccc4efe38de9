// SPDX-License-Identifier: Apache-2.0
//
// improve_placement: moves nodes along the chain that decides the makespan.
//
// The chain goes back from the node that ends last: to the producer whose tensor came last, or to
// the node before on the device. Where a tensor crosses devices, one of its ends joins the other;
// where a device is busy, one of the two nodes leaves. A move takes a unit, or the run of its
// linear cluster that lies on the same device, from the node on or whole. Slightly worse schedules
// are kept for a while, less as the search goes on. Every schedule is the evaluator's, and those
// that pass the memory are refused. Threads: pure; the same seed gives the same placement. Cost: an
// evaluation per step.
#pragma once

#include "planner/graph/schedule.h"
#include "planner/partition/linear_clusters.h"

namespace tandem::planner {

struct ImproveOptions {
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
};

// Never worse than `start`, which keeps the memory.
Placement improve_placement(const OperatorGraph& graph, const DeviceLinks& links,
                            const LinearClusters& clusters, const Placement& start,
                            const ImproveOptions& options);

}  // namespace tandem::planner
