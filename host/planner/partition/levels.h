// SPDX-License-Identifier: Apache-2.0
//
// Levels: for every node, the longest way from a source to its start and from its start to an end.
//
// Edges count with their transfer and latency; those within one cluster cost nothing. Threads:
// pure. Cost: O(nodes + edges). Source: ParDNN, arXiv 2008.08636, section 3.
#pragma once

#include <vector>

#include "planner/graph/device_links.h"
#include "planner/graph/operator_graph.h"

namespace tandem::planner {

constexpr int kNoCluster = -1;

struct Levels {
  std::vector<std::int64_t> top_ps, bottom_ps;  // [num_nodes]; bottom with the node itself

  std::int64_t weight_ps(int node) const {
    return top_ps[static_cast<std::size_t>(node)] + bottom_ps[static_cast<std::size_t>(node)];
  }
};

// `clusters`: [num_nodes] kNoCluster for a node that shares none.
Levels levels_of(const OperatorGraph& graph, const DeviceLinks& links,
                 const std::vector<int>& clusters);

// The longest way through the graph where no edge costs anything: no placement is faster.
std::int64_t critical_path_ps(const OperatorGraph& graph);

}  // namespace tandem::planner
