// SPDX-License-Identifier: Apache-2.0
//
// Levels: for every node, the longest path from a source to it and from it to an end.
//
// Edges count with transfer time and latency; edges within one cluster are free. Threads: pure.
// Cost: O(nodes + edges). Source: ParDNN, arXiv 2008.08636, section 3.
#pragma once

#include <vector>

#include "planner/graph/device_links.h"
#include "planner/graph/operator_graph.h"

namespace tandem::planner {

constexpr int kNoCluster = -1;

struct Levels {
  std::vector<std::int64_t> top_ps, bottom_ps;  // [num_nodes]; bottom_ps includes the node itself

  std::int64_t weight_ps(int node) const {
    return top_ps[static_cast<std::size_t>(node)] + bottom_ps[static_cast<std::size_t>(node)];
  }
};

// `clusters`: [num_nodes] kNoCluster for a node without a cluster.
Levels levels_of(const OperatorGraph& graph, const DeviceLinks& links,
                 const std::vector<int>& clusters);

// The longest path if all edges are free: a lower bound of every placement's time.
std::int64_t critical_path_ps(const OperatorGraph& graph);

}  // namespace tandem::planner
