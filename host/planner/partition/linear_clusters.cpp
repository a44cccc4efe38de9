// SPDX-License-Identifier: Apache-2.0
//
// Ways through free nodes only, backwards through the order of the graph.
#include "planner/partition/linear_clusters.h"

#include <algorithm>
#include <numeric>

namespace tandem::planner {
namespace {

std::size_t index_of(int id) { return static_cast<std::size_t>(id); }

class Slicer {
 public:
  Slicer(const OperatorGraph& graph, const DeviceLinks& links) : graph_(graph), links_(links) {
    result_.cluster_of.assign(index_of(graph.num_nodes()), kNoCluster);
  }

  LinearClusters run() {
    for (int device = 0; device < links_.num_devices; ++device) take_primary();
    result_.levels = levels_of(graph_, links_, result_.cluster_of);
    std::vector<int> nodes(graph_.order());
    std::ranges::stable_sort(nodes, std::greater<>(),
                             [&](int node) { return result_.levels.weight_ps(node); });
    for (const int node : nodes) {
      if (is_free(node)) take_path(node, result_.levels.bottom_ps);
    }
    return std::move(result_);
  }

 private:
  bool is_free(int node) const { return result_.cluster_of[index_of(node)] == kNoCluster; }

  void take_primary() {
    std::vector<std::int64_t> way(index_of(graph_.num_nodes()));
    int first = -1;
    for (auto node = graph_.order().rbegin(); node != graph_.order().rend(); ++node) {
      if (!is_free(*node)) continue;
      std::int64_t most = 0;
      for (const int id : graph_.out(*node)) {
        const int to = graph_.edge(id).to;
        if (!is_free(to)) continue;
        most = std::max(most, way[index_of(to)] + links_.edge_ps(graph_.edge_bytes(id)));
      }
      way[index_of(*node)] = most + graph_.node(*node).time_ps;
      if (first < 0 || way[index_of(*node)] >= way[index_of(first)]) first = *node;
    }
    if (first < 0) {
      result_.paths.emplace_back();
    } else {
      take_path(first, way);
    }
  }

  void take_path(int first, const std::vector<std::int64_t>& way) {
    const int cluster = static_cast<int>(result_.paths.size());
    result_.paths.emplace_back();
    for (int node = first; node >= 0; node = next_of(node, way)) {
      result_.cluster_of[index_of(node)] = cluster;
      result_.paths.back().push_back(node);
    }
  }

  int next_of(int node, const std::vector<std::int64_t>& way) const {
    int best = -1;
    std::int64_t most = -1;
    for (const int id : graph_.out(node)) {
      const int to = graph_.edge(id).to;
      if (!is_free(to)) continue;
      const std::int64_t length = way[index_of(to)] + links_.edge_ps(graph_.edge_bytes(id));
      if (length > most) {
        most = length;
        best = to;
      }
    }
    return best;
  }

  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  LinearClusters result_;
};

}  // namespace

LinearClusters slice_graph(const OperatorGraph& graph, const DeviceLinks& links) {
  return Slicer(graph, links).run();
}

}  // namespace tandem::planner
