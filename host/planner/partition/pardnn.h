// SPDX-License-Identifier: Apache-2.0
//
// place_by_pardnn: ParDNN's placement: clusters of slice_graph(), mapped by levels, then refined.
//
// A secondary cluster joins the device with which it exchanges most, where that outweighs the
// exchange with all others and the latency, and where the device stays balanced while the cluster
// could run, or the exchange is worth the imbalance. Growing shares of the clusters, the longest
// ways first, short spans first among them; then once more over all time. What is left goes where
// work less exchange is least. Refinement: clusters, then nodes, of the longest ways follow their
// neighbours to another device, while that shortens the evaluator's schedule. Threads: pure. Memory
// is not looked at. Cost: O(devices (nodes + edges) + nodes log nodes) per round. Source: arXiv
// 2008.08636, sections 3.1 to 3.3.
#pragma once

#include "planner/partition/linear_clusters.h"

namespace tandem::planner {

Placement place_by_pardnn(const OperatorGraph& graph, const DeviceLinks& links,
                          const LinearClusters& clusters);

}  // namespace tandem::planner
