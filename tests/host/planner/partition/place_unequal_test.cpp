// SPDX-License-Identifier: Apache-2.0
//
// Devices of several kinds and memories: small graphs against all placements, and every method.
#include <gmock/gmock.h>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"
#include "host/planner/partition/placements.h"
#include "planner/partition/chain_placement.h"
#include "planner/partition/device_speed.h"
#include "planner/partition/linear_clusters.h"
#include "planner/partition/list_placement.h"
#include "planner/partition/local_search.h"
#include "planner/partition/metis_placement.h"
#include "planner/partition/pardnn.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two devices: the second one is of a kind that may be twice as slow, and has other memory.
DeviceLinks unequal_links(int round) {
  DeviceLinks links = slow_links(2, round % 3);
  links.kinds = {round % 2, 1 - round % 2};
  return links;
}

TEST(PlaceUnequal, AutoFindsTheLeastOfAllPlacements) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    const RandomGraph shape{8, 25, round % 3 == 1, round % 2 == 1, 2};
    const OperatorGraph graph = random_graph(shape, random);
    DeviceLinks links = unequal_links(round);
    if (round % 3 == 1) links.memories = {150, 60};
    const std::int64_t least = least_makespan(graph, links);
    PlacedGraph placed;
    const std::string refused =
        message_of([&] { placed = place_graph(graph, links, PlaceMethod::kAuto); });
    if (least < 0) {
      EXPECT_NE(refused, "");
      continue;
    }
    ASSERT_EQ(refused, "");
    ASSERT_TRUE(keeps_rules(graph, placed.placement));
    ASSERT_EQ(placed.makespan_ps, least);
    ASSERT_GE(placed.makespan_ps, critical_path_ps(graph));
  }
}

TEST(PlaceUnequal, EveryMethodKeepsEachMemory) {
  std::mt19937_64 random(13);
  int num_placed = 0;
  for (int round = 0; round < 60; ++round) {
    const OperatorGraph graph = random_graph({9, 25, true, round % 2 == 1, 2}, random);
    DeviceLinks links = unequal_links(round);
    links.memories = {120, 40 + round % 20};
    for (const PlaceMethod method : kMethods) {
      PlacedGraph placed;
      const std::string refused = message_of([&] { placed = place_graph(graph, links, method); });
      if (!refused.empty()) {
        EXPECT_THAT(refused,
                    testing::AnyOf(HasSubstr("and the largest has 120"),
                                   HasSubstr("fits no device"), HasSubstr("bytes all the time"),
                                   HasSubstr("within the memories of the devices")));
        continue;
      }
      ++num_placed;
      ASSERT_TRUE(keeps_rules(graph, placed.placement));
      ASSERT_LE(placed.peak_bytes[0], 120);
      ASSERT_LE(placed.peak_bytes[1], 40 + round % 20);
    }
  }
  EXPECT_GT(num_placed, 60);
}

// Ten nodes that nothing joins; the second device is four times as fast.
TEST(PlaceUnequal, AFastDeviceGetsMore) {
  std::vector<OperatorNode> nodes;
  for (int id = 0; id < 10; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 0));
    nodes.back().kind_ps = {8 * kPicosecondsPerMicrosecond, 2 * kPicosecondsPerMicrosecond};
  }
  const OperatorGraph graph(nodes, {});
  DeviceLinks links = slow_links(2, 1);
  links.kinds = {0, 1};
  const auto makespan_us = [&](const Placement& placement) {
    return Evaluator(graph, links).run(placement).makespan_ps / kPicosecondsPerMicrosecond;
  };
  EXPECT_THAT(device_shares(graph, links),
              ElementsAre(testing::DoubleNear(0.2, 1e-6), testing::DoubleNear(0.8, 1e-6)));
  EXPECT_THAT(fastest_devices(graph, links), ElementsAre(1, 0));
  EXPECT_EQ(makespan_us(place_in_order(graph, links)), 16);
  EXPECT_EQ(makespan_us(place_by_rank(graph, links)), 16);
  EXPECT_EQ(makespan_us(place_earliest(graph, links)), 16);
  EXPECT_LE(makespan_us(place_by_pardnn(graph, links, slice_graph(graph, links))), 24);
  const PlacedGraph best = place_graph(graph, links, PlaceMethod::kAuto);
  EXPECT_EQ(best.makespan_ps, 16 * kPicosecondsPerMicrosecond);
  EXPECT_EQ(best.members.front().second, 20 * kPicosecondsPerMicrosecond);  // one: the fast device
  if (has_metis()) {
    EXPECT_LE(makespan_us(place_by_metis(graph, links)), 24);
  }
}

TEST(PlaceUnequal, ChainsGetTheLeastOfAllPlacements) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 60; ++round) {
    std::vector<OperatorNode> nodes;
    std::vector<OperatorEdge> edges;
    for (int id = 0; id < 8; ++id) {
      nodes.push_back(node_named("n" + std::to_string(id), 0, static_cast<int>(random() % 6)));
      for (int kind = 0; kind < 2; ++kind) {
        nodes.back().kind_ps.push_back(static_cast<std::int64_t>(random() % 9) *
                                       kPicosecondsPerMicrosecond);
      }
      if (id > 0) edges.push_back(edge_of(id - 1, id));
    }
    if (round % 4 == 0) nodes[random() % 8].device = 1;
    const OperatorGraph graph(nodes, edges);
    const DeviceLinks links = unequal_links(round);
    ASSERT_TRUE(is_chain(graph));
    const PlacedGraph placed = place_graph(graph, links, PlaceMethod::kChain);
    ASSERT_TRUE(keeps_rules(graph, placed.placement));
    ASSERT_EQ(placed.makespan_ps, least_makespan(graph, links)) << round;
  }
}

TEST(PlaceUnequal, OnlyChainsArePlacedAsChains) {
  const std::vector<OperatorNode> nodes = {node_named("a", 1), node_named("b", 1),
                                           node_named("c", 1)};
  EXPECT_TRUE(is_chain(OperatorGraph(nodes, {edge_of(2, 0), edge_of(0, 1)})));
  EXPECT_FALSE(is_chain(OperatorGraph(nodes, {edge_of(0, 1), edge_of(0, 2)})));
  EXPECT_FALSE(is_chain(OperatorGraph(nodes, {edge_of(0, 1)})));
  std::vector<OperatorNode> grouped = nodes;
  grouped[0].group = grouped[2].group = "g";
  const OperatorGraph tied(grouped, {edge_of(0, 1), edge_of(1, 2)});
  EXPECT_FALSE(is_chain(tied));
  EXPECT_THAT(message_of([&] { place_graph(tied, slow_links(2, 1), PlaceMethod::kChain); }),
              HasSubstr("the method chain is for chains"));
}

// A chain belongs on the fast device whole; ParDNN's first path goes there.
TEST(PlaceUnequal, TheLongestWayGoesToTheFastestDevice) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < 6; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 0, 50));
    nodes.back().kind_ps = {9 * kPicosecondsPerMicrosecond, 3 * kPicosecondsPerMicrosecond};
    if (id > 0) edges.push_back(edge_of(id - 1, id));
  }
  const OperatorGraph graph(nodes, edges);
  DeviceLinks links = slow_links(2, 1);
  links.kinds = {0, 1};
  EXPECT_THAT(place_by_pardnn(graph, links, slice_graph(graph, links)),
              ElementsAre(1, 1, 1, 1, 1, 1));
}

// From a placement on the slow device whose chain never waits, the search still moves nodes.
TEST(PlaceUnequal, TheSearchLeavesASlowDevice) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < 6; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 0, 1));
    nodes.back().kind_ps = {9 * kPicosecondsPerMicrosecond, 3 * kPicosecondsPerMicrosecond};
    if (id > 0) edges.push_back(edge_of(id - 1, id));
  }
  const OperatorGraph graph(nodes, edges);
  DeviceLinks links = slow_links(2, 1);
  links.kinds = {0, 1};
  ImproveOptions options;
  options.steps = 400;
  const Placement found =
      improve_placement(graph, links, slice_graph(graph, links), Placement(6, 0), options);
  EXPECT_EQ(Evaluator(graph, links).run(found).makespan_ps, 18 * kPicosecondsPerMicrosecond);
}

TEST(PlaceUnequal, AKindWithoutTimesIsRefused) {
  OperatorNode a = node_named("a", 0);
  a.kind_ps = {1, 2};
  DeviceLinks links = slow_links(1, 0);
  links.kinds = {2};
  EXPECT_THAT(message_of([&] { place_graph(OperatorGraph({a}, {}), links, PlaceMethod::kAuto); }),
              HasSubstr("no times for the kind of device 0"));
}

}  // namespace
}  // namespace tandem::planner
