// SPDX-License-Identifier: Apache-2.0
//
// A weight is at least 1, whatever its share of the sum.
#include "planner/partition/undirected_graph.h"

#include <algorithm>
#include <utility>

namespace tandem::planner {

UndirectedGraph undirected_graph(const OperatorGraph& graph, const DeviceLinks& links,
                                 double most_edges) {
  std::vector<std::pair<int, std::int64_t>> around;
  double edges_ps = 1;
  for (int id = 0; id < graph.num_edges(); ++id) {
    edges_ps += static_cast<double>(links.edge_ps(graph.edge_bytes(id)));
  }
  const double edge_scale = std::min(1.0, most_edges / edges_ps);
  const double node_scale =
      std::min(1.0, kMostWeights / (static_cast<double>(graph.work_ps()) + 1));
  UndirectedGraph result;
  for (int node = 0; node < graph.num_nodes(); ++node) {
    around.clear();
    for (const int id : graph.in(node)) {
      around.emplace_back(graph.edge(id).from, links.edge_ps(graph.edge_bytes(id)));
    }
    for (const int id : graph.out(node)) {
      around.emplace_back(graph.edge(id).to, links.edge_ps(graph.edge_bytes(id)));
    }
    std::ranges::sort(around);
    for (std::size_t i = 0; i < around.size();) {
      std::int64_t sum = 0;
      const int other = around[i].first;
      for (; i < around.size() && around[i].first == other; ++i) sum += around[i].second;
      result.neighbours.push_back(other);
      result.edge_weights.push_back(
          1 + static_cast<std::int32_t>(static_cast<double>(sum) * edge_scale));
    }
    result.begins.push_back(static_cast<std::int32_t>(result.neighbours.size()));
    result.node_weights.push_back(
        1 + static_cast<std::int32_t>(static_cast<double>(graph.node(node).time_ps) * node_scale));
  }
  return result;
}

}  // namespace tandem::planner
