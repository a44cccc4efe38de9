// SPDX-License-Identifier: Apache-2.0
//
// slice_graph: the paths of a graph: ParDNN's slicing.
//
// As many times as there are devices, the longest way through nodes that no path has yet becomes a
// primary cluster: cluster d belongs to device d. The rest is peeled into secondary clusters: from
// the node of the longest way through it, always on to the successor of the longest way to the end.
// A graph with fewer paths has empty primary clusters. Threads: pure. Cost: O(devices (nodes +
// edges) + nodes log nodes). Source: ParDNN, arXiv 2008.08636, section 3.1.
#pragma once

#include <vector>

#include "planner/partition/levels.h"

namespace tandem::planner {

struct LinearClusters {
  std::vector<std::vector<int>> paths;  // nodes of each; the first num_devices are primary
  std::vector<int> cluster_of;          // [num_nodes]
  Levels levels;                        // edges within primary clusters cost nothing
};

LinearClusters slice_graph(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
