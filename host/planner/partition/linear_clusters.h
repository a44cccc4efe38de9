// SPDX-License-Identifier: Apache-2.0
//
// slice_graph: divides a graph into paths (the slicing of ParDNN).
//
// First it makes one primary cluster per device: the longest path through nodes that are in no path
// yet. Cluster d belongs to device d. The remaining nodes form secondary clusters: each starts at
// the node with the longest path through it, and continues with the successor that has the longest
// path to the end. A graph with fewer paths has empty primary clusters. Threads: pure. Cost:
// O(devices (nodes + edges) + nodes log nodes). Source: ParDNN, arXiv 2008.08636, section 3.1.
#pragma once

#include <vector>

#include "planner/partition/levels.h"

namespace tandem::planner {

struct LinearClusters {
  std::vector<std::vector<int>> paths;  // nodes of each; the first num_devices are primary
  std::vector<int> cluster_of;          // [num_nodes]
  Levels levels;                        // edges within primary clusters are free
};

LinearClusters slice_graph(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
