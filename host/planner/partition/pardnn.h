// SPDX-License-Identifier: Apache-2.0
//
// place_by_pardnn: places the clusters of slice_graph() by the method of ParDNN, then refines.
//
// A secondary cluster joins the device with which it exchanges most, under two conditions: this
// exchange exceeds the exchange with all other devices plus the latency, and the device stays
// balanced in that time span or the exchange is worth the imbalance. Clusters are tried in growing
// shares, those with the longest paths first, short time spans first; then once more over the whole
// time. The remaining ones go where work minus exchange is least. The refinement moves clusters,
// then nodes, of the longest paths to their neighbours' devices while that shortens the schedule.
// Memory is not checked. Threads: pure. Cost: O(devices (nodes + edges) + nodes log nodes) per
// round. Source: arXiv 2008.08636, sections 3.1 to 3.3.
#pragma once

#include "planner/partition/linear_clusters.h"

namespace tandem::planner {

Placement place_by_pardnn(const OperatorGraph& graph, const DeviceLinks& links,
                          const LinearClusters& clusters);

}  // namespace tandem::planner
