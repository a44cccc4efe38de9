// SPDX-License-Identifier: Apache-2.0
//
// Weights are scaled so that sums of METIS's 32-bit numbers hold.
#include "planner/partition/metis_placement.h"

#include <metis.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "common/error.h"
#include "planner/partition/device_speed.h"

namespace tandem::planner {
namespace {

constexpr double kMostSum = 1 << 30;

struct MetisGraph {
  std::vector<idx_t> begins{0}, neighbours, edge_weights, node_weights;
};

MetisGraph metis_graph(const OperatorGraph& graph, const DeviceLinks& links) {
  std::vector<std::pair<int, std::int64_t>> around;
  double edges_ps = 1;
  for (int id = 0; id < graph.num_edges(); ++id) {
    edges_ps += static_cast<double>(links.edge_ps(graph.edge_bytes(id)));
  }
  const double edge_scale = std::min(1.0, kMostSum / edges_ps);
  const double node_scale = std::min(1.0, kMostSum / (static_cast<double>(graph.work_ps()) + 1));
  MetisGraph result;
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
      result.edge_weights.push_back(1 + static_cast<idx_t>(static_cast<double>(sum) * edge_scale));
    }
    result.begins.push_back(static_cast<idx_t>(result.neighbours.size()));
    result.node_weights.push_back(
        1 + static_cast<idx_t>(static_cast<double>(graph.node(node).time_ps) * node_scale));
  }
  return result;
}

}  // namespace

bool has_metis() { return true; }

Placement place_by_metis(const OperatorGraph& graph, const DeviceLinks& links) {
  Placement placement(static_cast<std::size_t>(graph.num_nodes()));
  if (links.num_devices == 1 || graph.num_nodes() <= links.num_devices) {
    for (std::size_t node = 0; node < placement.size(); ++node) {
      placement[node] = static_cast<int>(node) % links.num_devices;
    }
    return placement;
  }
  MetisGraph input = metis_graph(graph, links);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  idx_t num_nodes = graph.num_nodes(), num_weights = 1, num_parts = links.num_devices, cut = 0;
  std::vector<idx_t> parts(placement.size());
  // Only where kinds differ: METIS rounds other than without shares.
  std::vector<real_t> shares;
  if (graph.num_kinds() > 1) {
    for (const double share : device_shares(graph, links)) {
      shares.push_back(static_cast<real_t>(share));
    }
  }
  const int status = METIS_PartGraphKway(
      &num_nodes, &num_weights, input.begins.data(), input.neighbours.data(),
      input.node_weights.data(), nullptr, input.edge_weights.data(), &num_parts,
      shares.empty() ? nullptr : shares.data(), nullptr, options, &cut, parts.data());
  if (status != METIS_OK) {
    throw Error("place", "METIS ended with " + std::to_string(status) + "; choose another method");
  }
  std::ranges::copy(parts, placement.begin());
  return placement;
}

}  // namespace tandem::planner
