// SPDX-License-Identifier: Apache-2.0
//
// Forwards and backwards through the order of the graph.
#include "planner/partition/levels.h"

#include <algorithm>

namespace tandem::planner {

Levels levels_of(const OperatorGraph& graph, const DeviceLinks& links,
                 const std::vector<int>& clusters) {
  const auto at = [](int id) { return static_cast<std::size_t>(id); };
  const auto edge_ps = [&](int id) {
    const OperatorEdge& edge = graph.edge(id);
    const int cluster = clusters[at(edge.from)];
    const bool is_free = cluster != kNoCluster && cluster == clusters[at(edge.to)];
    return is_free ? 0 : links.edge_ps(graph.edge_bytes(id));
  };
  Levels levels;
  levels.top_ps.resize(clusters.size());
  levels.bottom_ps.resize(clusters.size());
  for (const int node : graph.order()) {
    for (const int id : graph.in(node)) {
      const int from = graph.edge(id).from;
      levels.top_ps[at(node)] =
          std::max(levels.top_ps[at(node)],
                   levels.top_ps[at(from)] + graph.node(from).time_ps + edge_ps(id));
    }
  }
  for (auto node = graph.order().rbegin(); node != graph.order().rend(); ++node) {
    std::int64_t& bottom = levels.bottom_ps[at(*node)];
    for (const int id : graph.out(*node)) {
      bottom = std::max(bottom, levels.bottom_ps[at(graph.edge(id).to)] + edge_ps(id));
    }
    bottom += graph.node(*node).time_ps;
  }
  return levels;
}

std::int64_t critical_path_ps(const OperatorGraph& graph) {
  const std::vector<int> one_cluster(static_cast<std::size_t>(graph.num_nodes()), 0);
  return std::ranges::max(levels_of(graph, {}, one_cluster).bottom_ps);
}

}  // namespace tandem::planner
