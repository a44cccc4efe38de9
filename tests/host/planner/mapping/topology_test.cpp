// SPDX-License-Identifier: Apache-2.0
//
// Distances of every shape against their closed forms, and against all simple ways of a small
// graph.
#include "planner/mapping/topology.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "host/planner/message_of.h"
#include "planner/mapping/topology_shapes.h"

namespace tandem::planner {
namespace {

using testing::HasSubstr;

using PairValue = std::function<std::int64_t(int from, int to)>;

void expect_distances(const Topology& topology, const PairValue& cost, const PairValue& slow) {
  const TopologyDistances distances = distances_of(topology);
  const int n = topology.num_places();
  ASSERT_EQ(distances.cost.size(), static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int from = 0, cell = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to, ++cell) {
      const auto at = static_cast<std::size_t>(cell);
      ASSERT_EQ(distances.cost[at], cost(from, to)) << from << " to " << to;
      ASSERT_EQ(distances.slow[at], slow(from, to)) << from << " to " << to;
    }
  }
}

// Coordinates of a number in a grid; the last changes first.
std::vector<int> coordinates(int place, const std::vector<int>& sizes) {
  std::vector<int> result(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0; place /= sizes[axis]) {
    result[axis] = place % sizes[axis];
  }
  return result;
}

PairValue grid_distance(const std::vector<int>& sizes, bool is_torus) {
  return [=](int from, int to) {
    const std::vector<int> a = coordinates(from, sizes), b = coordinates(to, sizes);
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const int apart = std::abs(a[axis] - b[axis]);
      sum += is_torus ? std::min(apart, sizes[axis] - apart) : apart;
    }
    return sum;
  };
}

TEST(TopologyShapes, AMeshHasTheDistancesOfItsCoordinates) {
  const PairValue plane = grid_distance({4, 3}, false), line = grid_distance({7}, false);
  expect_distances(topology_of_shape("mesh:4x3"), plane, plane);
  expect_distances(topology_of_shape("mesh:7"), line, line);
}

TEST(TopologyShapes, ATorusGoesTheShorterWayAround) {
  for (const auto& [name, sizes] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"torus:4x5", {4, 5}}, {"torus:2x3x4", {2, 3, 4}}, {"torus:1x6", {1, 6}}}) {
    SCOPED_TRACE(name);
    const PairValue around = grid_distance(sizes, true);
    expect_distances(topology_of_shape(name), around, around);
  }
  EXPECT_EQ(topology_of_shape("torus:2x2").links.size(), 4u);  // no link is there twice
}

TEST(TopologyShapes, AFatTreeHasThreeDistances) {
  for (const int ports : {2, 4, 6}) {
    SCOPED_TRACE(ports);
    const Topology tree = topology_of_shape("fat-tree:" + std::to_string(ports));
    const int half = ports / 2;
    EXPECT_EQ(tree.num_places(), ports * ports * ports / 4);
    EXPECT_EQ(tree.num_switches, ports * ports * 5 / 4);
    EXPECT_EQ(tree.links.size(), static_cast<std::size_t>(3 * ports * ports * ports / 4));
    const auto is_same = [](int size) {
      return [=](int from, int to) { return from / size == to / size; };
    };
    const auto same_switch = is_same(half), same_pod = is_same(half * half);
    expect_distances(
        tree,
        [&](int from, int to) {
          if (from == to) return 0;
          if (same_switch(from, to)) return 2;
          return same_pod(from, to) ? 4 : 6;
        },
        [&](int from, int to) { return same_pod(from, to) ? 0 : 2; });
  }
}

// The group `apart` further hangs on router (apart - 1) / ceil((groups - 1) / routers).
TEST(TopologyShapes, ADragonflyTakesOneGlobalLink) {
  for (const auto& sizes :
       std::vector<std::array<int, 3>>{{9, 4, 2}, {5, 2, 3}, {3, 4, 1}, {1, 3, 2}, {2, 1, 2}}) {
    const int groups = sizes[0], routers = sizes[1], places = sizes[2];
    const std::string name = "dragonfly:" + std::to_string(groups) + "x" + std::to_string(routers) +
                             "x" + std::to_string(places);
    SCOPED_TRACE(name);
    const int links = (groups - 1 + routers - 1) / routers;
    const auto cost = [&](int from, int to) -> std::int64_t {
      if (from == to) return 0;
      const int from_router = from / places, to_router = to / places;
      const int from_group = from_router / routers, to_group = to_router / routers;
      if (from_group == to_group) return from_router == to_router ? 2 : 3;
      const int apart = (to_group - from_group + groups) % groups;
      const bool is_at_exit = from_router % routers == (apart - 1) / links;
      const bool is_at_entry = to_router % routers == (groups - apart - 1) / links;
      return 2 + 3 + (is_at_exit ? 0 : 1) + (is_at_entry ? 0 : 1);
    };
    expect_distances(topology_of_shape(name), cost, [&](int from, int to) {
      return from / places / routers == to / places / routers ? 0 : 1;
    });
  }
}

TEST(TopologyShapes, PlacesAreHostsOfTheirOwn) {
  const Topology mesh = topology_of_shape("mesh:2x2");
  EXPECT_EQ(mesh.places[3].host, "+n3");
  EXPECT_EQ(mesh.places[3].slot, "0");
}

TEST(TopologyShapes, WrongNamesAreRefused) {
  const auto refusal = [](const std::string& name) {
    return message_of([&] { topology_of_shape(name); });
  };
  EXPECT_THAT(refusal("ring:4"), HasSubstr("'ring:4': shapes are mesh:AxB"));
  EXPECT_THAT(refusal("mesh:"), HasSubstr("'' is not a size from 1"));
  EXPECT_THAT(refusal("mesh:4x"), HasSubstr("'' is not a size from 1"));
  EXPECT_THAT(refusal("torus:4x0"), HasSubstr("'0' is not a size from 1"));
  EXPECT_THAT(refusal("torus:4,4"), HasSubstr("'4,4' is not a size from 1"));
  EXPECT_THAT(refusal("mesh:64x64"), HasSubstr("4096 places; at most 2048"));
  EXPECT_THAT(refusal("mesh:2000x2000x2000x2000x2000x2000"), HasSubstr("at most 2048"));
  EXPECT_THAT(refusal("fat-tree:3"), HasSubstr("even number of ports"));
  EXPECT_THAT(refusal("fat-tree:2000"), HasSubstr("at most 2048"));
  EXPECT_THAT(refusal("fat-tree:4x4"), HasSubstr("has one size"));
  EXPECT_THAT(refusal("dragonfly:4x4"), HasSubstr("has three sizes"));
  EXPECT_FALSE(is_topology_shape("machine"));
  EXPECT_EQ(refusal("mesh:2048"), "");
}

// The least of all simple ways from `at`, as a pair.
using Way = std::pair<std::int64_t, std::int64_t>;
Way least_way(const Topology& topology, int at, int to, std::vector<bool>& seen) {
  if (at == to) return {0, 0};
  Way least{std::numeric_limits<std::int64_t>::max() / 2, 0};
  seen[static_cast<std::size_t>(at)] = true;
  for (const TopologyLink& link : topology.links) {
    if (link.from != at && link.to != at) continue;
    const int next = link.from == at ? link.to : link.from;
    if (seen[static_cast<std::size_t>(next)]) continue;
    Way rest = least_way(topology, next, to, seen);
    least = std::min(least, Way{rest.first + link.cost, rest.second + (link.is_slow ? 1 : 0)});
  }
  seen[static_cast<std::size_t>(at)] = false;
  return least;
}

TEST(TopologyDistance, TheLeastOfAllSimpleWays) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    Topology topology;
    topology.places.resize(4);
    topology.num_switches = 3;
    for (int vertex = 1; vertex < 7; ++vertex) {
      topology.links.push_back({static_cast<int>(random() % static_cast<unsigned>(vertex)), vertex,
                                1 + static_cast<std::int64_t>(random() % 3), random() % 2 == 0});
    }
    for (int i = 0; i < 6; ++i) {
      topology.links.push_back({static_cast<int>(random() % 7), static_cast<int>(random() % 7),
                                1 + static_cast<std::int64_t>(random() % 3), random() % 2 == 0});
    }
    std::vector<bool> seen(7);
    expect_distances(
        topology, [&](int from, int to) { return least_way(topology, from, to, seen).first; },
        [&](int from, int to) { return least_way(topology, from, to, seen).second; });
  }
}

TEST(TopologyDistance, DisconnectedPlacesAreNamed) {
  Topology topology;
  topology.places = {{.name = "left"}, {.name = "right"}};
  EXPECT_THAT(message_of([&] { distances_of(topology); }),
              HasSubstr("disconnected: no links lead from 'left' to 'right'"));
  topology.links.push_back({.from = 0, .to = 1});
  EXPECT_EQ(message_of([&] { distances_of(topology); }), "");
}

TEST(TopologyDistance, WrongLinksAreRefused) {
  Topology topology;
  EXPECT_THAT(message_of([&] { distances_of(topology); }), HasSubstr("no places"));
  topology.places.resize(2);
  topology.links = {{.from = 0, .to = 2}};
  EXPECT_THAT(message_of([&] { distances_of(topology); }),
              HasSubstr("joins vertices 0 and 2; there are 2"));
  topology.links = {{.from = 0, .to = 1, .cost = 0}};
  EXPECT_THAT(message_of([&] { distances_of(topology); }), HasSubstr("costs less than 1"));
}

}  // namespace
}  // namespace tandem::planner
