// SPDX-License-Identifier: Apache-2.0
//
// Shortest ways from every place (Dijkstra). Costs are ordered as pairs: cost, then slow links.
#include "planner/mapping/topology.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

using WayCost = std::pair<std::int64_t, std::int64_t>;  // cost, slow links
constexpr WayCost kNoWay{std::numeric_limits<std::int64_t>::max(), 0};

struct Neighbour {
  int vertex = 0;
  WayCost cost;
};
using Neighbours = std::vector<std::vector<Neighbour>>;  // [vertices]

Neighbours neighbours_of(const Topology& topology) {
  Neighbours neighbours(static_cast<std::size_t>(topology.num_vertices()));
  for (const TopologyLink& link : topology.links) {
    const auto [least, most] = std::minmax(link.from, link.to);
    if (least < 0 || most >= topology.num_vertices()) {
      throw Error("topology", "a link joins vertices " + std::to_string(link.from) + " and " +
                                  std::to_string(link.to) + "; there are " +
                                  std::to_string(topology.num_vertices()));
    }
    if (link.cost < 1) throw Error("topology", "a link costs less than 1");
    const WayCost cost{link.cost, link.is_slow ? 1 : 0};
    neighbours[static_cast<std::size_t>(link.from)].push_back({link.to, cost});
    neighbours[static_cast<std::size_t>(link.to)].push_back({link.from, cost});
  }
  return neighbours;
}

// [vertices] The costs of the ways from a vertex.
std::vector<WayCost> ways_from(int start, const Neighbours& neighbours) {
  std::vector<WayCost> ways(neighbours.size(), kNoWay);
  using Entry = std::pair<WayCost, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  ways[static_cast<std::size_t>(start)] = {0, 0};
  open.push({{0, 0}, start});
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (cost > ways[static_cast<std::size_t>(vertex)]) continue;
    for (const Neighbour& next : neighbours[static_cast<std::size_t>(vertex)]) {
      const WayCost longer{cost.first + next.cost.first, cost.second + next.cost.second};
      WayCost& known = ways[static_cast<std::size_t>(next.vertex)];
      if (longer >= known) continue;
      known = longer;
      open.push({longer, next.vertex});
    }
  }
  return ways;
}

}  // namespace

void Topology::mark_slowest() {
  std::int64_t most = 0;
  for (const TopologyLink& link : links) most = std::max(most, link.cost);
  for (TopologyLink& link : links) link.is_slow = link.cost == most;
}

TopologyDistances distances_of(const Topology& topology) {
  if (topology.places.empty()) throw Error("topology", "there are no places");
  const Neighbours neighbours = neighbours_of(topology);
  TopologyDistances distances;
  for (int from = 0; from < topology.num_places(); ++from) {
    const std::vector<WayCost> ways = ways_from(from, neighbours);
    for (std::size_t to = 0; to < topology.places.size(); ++to) {
      if (ways[to] == kNoWay) {
        throw Error("topology", "the topology is disconnected: no links lead from '" +
                                    topology.places[static_cast<std::size_t>(from)].name +
                                    "' to '" + topology.places[to].name + "'");
      }
      distances.cost.push_back(ways[to].first);
      distances.slow.push_back(ways[to].second);
    }
  }
  return distances;
}

}  // namespace tandem::planner
