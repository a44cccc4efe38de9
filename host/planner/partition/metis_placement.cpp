// SPDX-License-Identifier: Apache-2.0
//
// Numbers are those of Debian's METIS, of 32 bits.
#include "planner/partition/metis_placement.h"

#include <metis.h>

#include <algorithm>
#include <string>

#include "common/error.h"
#include "planner/partition/device_speed.h"
#include "planner/partition/undirected_graph.h"

namespace tandem::planner {
namespace {

static_assert(sizeof(idx_t) == sizeof(std::int32_t));

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
  UndirectedGraph input = undirected_graph(graph, links);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  idx_t num_nodes = graph.num_nodes(), num_weights = 1, num_parts = links.num_devices, cut = 0;
  std::vector<idx_t> parts(placement.size());
  // Only with several kinds: METIS rounds differently with shares than without.
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
