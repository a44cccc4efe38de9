// SPDX-License-Identifier: Apache-2.0
//
// UndirectedGraph: an operator graph as METIS and Scotch read it: rows of neighbours, 32-bit
// weights.
//
// Edges count without direction; edges between the same two nodes become one. Weights are scaled so
// that their sums fit into 31 bits, because Scotch adds up both directions of an edge. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/graph/device_links.h"

namespace tandem::planner {

struct UndirectedGraph {
  std::vector<std::int32_t> begins{0};  // [num_nodes + 1]
  std::vector<std::int32_t> neighbours, edge_weights;
  std::vector<std::int32_t> node_weights;  // [num_nodes]
};

constexpr double kMostWeights = 1 << 30;

// most_edges: about the sum of the edges' weights, each edge once.
UndirectedGraph undirected_graph(const OperatorGraph& graph, const DeviceLinks& links,
                                 double most_edges = kMostWeights);

}  // namespace tandem::planner
