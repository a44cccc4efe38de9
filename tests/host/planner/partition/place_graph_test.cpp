// SPDX-License-Identifier: Apache-2.0
//
// Placements of small graphs against all placements, and what every method keeps.
#include "planner/partition/place_graph.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"
#include "host/planner/partition/placements.h"
#include "planner/graph/schedule.h"
#include "planner/partition/favourite_children.h"
#include "planner/partition/level_work.h"
#include "planner/partition/linear_clusters.h"
#include "planner/partition/local_search.h"
#include "planner/partition/memory_repair.h"
#include "planner/partition/metis_placement.h"
#include "planner/partition/scotch_placement.h"
#include "planner/partition/undirected_graph.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> evaluated_peaks(const OperatorGraph& graph, const DeviceLinks& links,
                                          const Placement& placement) {
  Evaluator evaluator(graph, links);
  evaluator.run(placement);
  return peak_bytes(graph, links, placement, evaluator.memory_spans(placement));
}

TEST(PlaceGraph, AutoFindsTheLeastOfAllPlacements) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 60; ++round) {
    const OperatorGraph graph = random_graph({8, 25, false, round % 2 == 1}, random);
    const DeviceLinks links = slow_links(2, round % 4);
    const PlacedGraph placed = place_graph(graph, links, PlaceMethod::kAuto);
    ASSERT_TRUE(keeps_rules(graph, placed.placement));
    ASSERT_EQ(placed.makespan_ps, least_makespan(graph, links));
  }
}

TEST(PlaceGraph, EveryMethodKeepsMemoryRulesAndBounds) {
  std::mt19937_64 random(19);
  int num_placed = 0, num_refused = 0;
  for (int round = 0; round < 60; ++round) {
    const OperatorGraph graph = random_graph({9, 25, true, round % 2 == 1}, random);
    DeviceLinks links = slow_links(2, 1);
    links.memory_bytes = 35 + 5 * (round % 12);
    for (const PlaceMethod method : kMethods) {
      PlacedGraph placed;
      const std::string refused = message_of([&] { placed = place_graph(graph, links, method); });
      if (!refused.empty()) {
        ++num_refused;
        EXPECT_THAT(
            refused,
            testing::AnyOf(HasSubstr("fits no device"), HasSubstr("bytes per device"),
                           HasSubstr("bytes all the time"), HasSubstr("larger than that of all")));
        continue;
      }
      ++num_placed;
      ASSERT_TRUE(keeps_rules(graph, placed.placement));
      ASSERT_LE(std::ranges::max(placed.peak_bytes), links.memory_bytes);
      ASSERT_EQ(placed.peak_bytes, evaluated_peaks(graph, links, placed.placement));
      ASSERT_EQ(placed.makespan_ps, Evaluator(graph, links).run(placed.placement).makespan_ps);
      ASSERT_GE(placed.makespan_ps, critical_path_ps(graph));
      ASSERT_GE(placed.makespan_ps, graph.work_ps() / 2);
    }
  }
  EXPECT_GT(num_placed, 30);
  EXPECT_GT(num_refused, 5);
}

TEST(PlaceGraph, AutoIsTheBestOfItsMembers) {
  std::mt19937_64 random(29);
  for (int round = 0; round < 5; ++round) {
    const OperatorGraph graph = random_graph({60, 6}, random);
    const PlacedGraph placed = place_graph(graph, slow_links(3, 2), PlaceMethod::kAuto);
    std::int64_t least = placed.members.front().second.value();
    std::set<std::string> names;
    for (const auto& [name, makespan] : placed.members) {
      least = std::min(least, makespan.value());
      names.insert(name);
      if (name != placed.method) continue;
      EXPECT_EQ(makespan.value(), placed.makespan_ps);
    }
    EXPECT_EQ(placed.makespan_ps, least);
    EXPECT_EQ(names.count("pardnn") + names.count("etf") + names.count("one"), 3u);
    EXPECT_EQ(names.count("metis"), has_metis() ? 1u : 0u);
    EXPECT_EQ(names.count("scotch"), has_scotch() ? 1u : 0u);
    EXPECT_EQ(names.count("msct"), has_linear_solver() ? 1u : 0u);
    EXPECT_EQ(names.count("heft") + names.count("order"), 2u);
    EXPECT_EQ(names.count("chain"), 0u);
    for (const PlaceMethod method : {PlaceMethod::kParDnn, PlaceMethod::kEarliest}) {
      EXPECT_LE(placed.makespan_ps, place_graph(graph, slow_links(3, 2), method).makespan_ps);
    }
    EXPECT_EQ(place_graph(graph, slow_links(3, 2), PlaceMethod::kAuto).placement, placed.placement);
  }
}

// Two chains that exchange nothing: each method gives each its device.
TEST(PlaceGraph, TwoChainsGetTwoDevices) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < 20; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 10, 5));
    if (id >= 2) edges.push_back(edge_of(id - 2, id));
  }
  const OperatorGraph graph(nodes, edges);
  for (const PlaceMethod method : kMethods) {
    EXPECT_EQ(place_graph(graph, slow_links(2, 5), method).makespan_ps,
              100 * kPicosecondsPerMicrosecond);
  }
  for (const auto& [method, is_there] : {std::pair(PlaceMethod::kMetis, has_metis()),
                                         std::pair(PlaceMethod::kScotch, has_scotch())}) {
    if (!is_there) continue;
    EXPECT_EQ(place_graph(graph, slow_links(2, 5), method).makespan_ps,
              100 * kPicosecondsPerMicrosecond);
  }
}

// Weights of 30 bytes on devices of 100: three fit each device.
TEST(PlaceGraph, AModelLargerThanOneMemoryIsSpread) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < 9; ++id) {
    nodes.push_back(node_named("layer" + std::to_string(id), 10, 1));
    nodes.back().resident_bytes = 30;
    if (id > 0) edges.push_back(edge_of(id - 1, id));
  }
  const OperatorGraph graph(nodes, edges);
  DeviceLinks links = slow_links(3, 4);
  links.memory_bytes = 100;
  for (const PlaceMethod method : kMethods) {
    const PlacedGraph placed = place_graph(graph, links, method);
    EXPECT_LE(std::ranges::max(placed.peak_bytes), 100);
  }
  const PlacedGraph best = place_graph(graph, links, PlaceMethod::kAuto);
  EXPECT_EQ(best.makespan_ps, (90 + 2 * 5) * kPicosecondsPerMicrosecond);
}

TEST(PlaceGraph, WhatFitsNowhereIsNamed) {
  std::vector<OperatorNode> nodes = {node_named("a", 1, 10), node_named("b", 1, 3)};
  nodes[1].resident_bytes = 40;
  nodes[1].workspace_bytes = 7;
  const OperatorGraph graph(nodes, {edge_of(0, 1)});
  DeviceLinks links = slow_links(2, 0);
  links.memory_bytes = 59;
  EXPECT_THAT(
      message_of([&] { place_graph(graph, links, PlaceMethod::kAuto); }),
      HasSubstr("node 'b' fits no device: with its inputs and its output it needs 60 bytes, "
                "and a device has 59"));
  links.memory_bytes = 60;
  EXPECT_EQ(place_graph(graph, links, PlaceMethod::kAuto).makespan_ps,
            2 * kPicosecondsPerMicrosecond);
  nodes[0].resident_bytes = nodes[1].resident_bytes = 10;
  std::vector<OperatorNode> many(7, nodes[0]);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].name = std::to_string(i);
  links.memory_bytes = 30;
  EXPECT_THAT(message_of([&] { place_graph(OperatorGraph(many, {}), links, PlaceMethod::kAuto); }),
              HasSubstr("larger than that of all 2 devices"));
  nodes[0].device = 2;
  EXPECT_THAT(message_of([&] { place_graph(OperatorGraph(nodes, {}), links, PlaceMethod::kAuto); }),
              HasSubstr("node 'a' is fixed to device 2, but there are 2"));
}

// Every node alone would fit.
TEST(PlaceGraph, GroupsAndFixedNodesThatFitNowhereAreNamed) {
  std::vector<OperatorNode> nodes = {node_named("a", 1, 0), node_named("b", 1, 0),
                                     node_named("c", 1, 0)};
  for (OperatorNode& each : nodes) each.resident_bytes = 50;
  nodes[0].group = nodes[1].group = "both";
  DeviceLinks links = slow_links(2, 0);
  links.memory_bytes = 99;
  const auto refusal = [&] {
    return message_of([&] { place_graph(OperatorGraph(nodes, {}), links, PlaceMethod::kAuto); });
  };
  EXPECT_THAT(refusal(),
              HasSubstr("group 'both' fits no device: its 2 nodes hold 100 bytes all the "
                        "time, and a device has 99"));
  links.memory_bytes = 100;
  EXPECT_EQ(refusal(), "");
  nodes[0].group = nodes[1].group = "";
  nodes[0].device = nodes[2].device = 1;
  EXPECT_EQ(refusal(), "");
  links.memory_bytes = 99;
  EXPECT_THAT(refusal(), HasSubstr("the nodes that are fixed to device 1 hold 100 bytes all the "
                                   "time, and it has 99"));
}

TEST(PlaceGraph, MethodsHaveNames) {
  EXPECT_EQ(place_method_of("etf"), PlaceMethod::kEarliest);
  EXPECT_EQ(place_method_of("msct"), PlaceMethod::kSmallComm);
  EXPECT_THAT(message_of([] { place_method_of("magic"); }), HasSubstr("'magic': auto, pardnn"));
}

TEST(PlaceGraph, MetisIsThereOrSaysThatItIsNot) {
  const OperatorGraph graph({node_named("a", 1), node_named("b", 1)}, {});
  const std::string text =
      message_of([&] { place_graph(graph, slow_links(2, 0), PlaceMethod::kMetis); });
  if (has_metis()) {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_THAT(text, HasSubstr("install libmetis-dev"));
  }
}

TEST(PlaceGraph, ScotchKeepsRulesTwiceAlikeOrSaysThatItIsNotThere) {
  std::mt19937_64 random(31);
  const OperatorGraph graph = random_graph({80, 8}, random);
  if (!has_scotch()) {
    EXPECT_THAT(message_of([&] { place_graph(graph, slow_links(3, 2), PlaceMethod::kScotch); }),
                HasSubstr("install libscotch-dev"));
    return;
  }
  const PlacedGraph placed = place_graph(graph, slow_links(3, 2), PlaceMethod::kScotch);
  EXPECT_TRUE(keeps_rules(graph, placed.placement));
  EXPECT_EQ(placed.placement, place_graph(graph, slow_links(3, 2), PlaceMethod::kScotch).placement);
  std::set<int> used(placed.placement.begin(), placed.placement.end());
  EXPECT_EQ(used.size(), 3u);
}

// Scotch adds up the weights of both directions in 32 bits.
TEST(UndirectedGraphs, WeightsOfLongTransfersAddUpWithin31Bits) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < 100; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 10'000, 1'000'000));
    if (id > 0) edges.push_back(edge_of(id - 1, id));
  }
  const OperatorGraph graph(nodes, edges);
  const DeviceLinks links = slow_links(2, 5);
  const UndirectedGraph halved = undirected_graph(graph, links, kMostWeights / 2);
  const auto sum = [](const std::vector<std::int32_t>& weights) {
    return std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  };
  EXPECT_LE(sum(halved.edge_weights), std::numeric_limits<std::int32_t>::max());
  EXPECT_LE(sum(halved.node_weights), std::numeric_limits<std::int32_t>::max());
  EXPECT_GT(sum(halved.edge_weights), 1 << 29);  // scaled no further than needed
  EXPECT_EQ(halved.begins.back(), 2 * 99);
}

TEST(LinearClustersTest, PathsHoldEveryNodeOnceAndFollowEdges) {
  std::mt19937_64 random(39);
  for (int round = 0; round < 20; ++round) {
    const OperatorGraph graph = random_graph({30, 10}, random);
    const LinearClusters clusters = slice_graph(graph, slow_links(3, 1));
    std::vector<int> nodes;
    for (std::size_t id = 0; id < clusters.paths.size(); ++id) {
      const auto& path = clusters.paths[id];
      for (std::size_t i = 0; i < path.size(); ++i) {
        nodes.push_back(path[i]);
        EXPECT_EQ(clusters.cluster_of[static_cast<std::size_t>(path[i])], static_cast<int>(id));
        if (i == 0) continue;
        EXPECT_TRUE(std::ranges::any_of(
            graph.in(path[i]), [&](int edge) { return graph.edge(edge).from == path[i - 1]; }));
      }
    }
    std::ranges::sort(nodes);
    std::vector<int> all(30);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(nodes, all);
  }
}

TEST(LinearClustersTest, ThePrimaryPathIsTheLongestWay) {
  const OperatorGraph graph(
      {node_named("a", 1, 3), node_named("b", 9), node_named("c", 2), node_named("d", 1)},
      {edge_of(0, 1), edge_of(0, 2), edge_of(1, 3), edge_of(2, 3)});
  const LinearClusters clusters = slice_graph(graph, slow_links(2, 4));
  EXPECT_THAT(clusters.paths[0], ElementsAre(0, 1, 3));
  EXPECT_THAT(clusters.paths[1], ElementsAre(2));
  constexpr std::int64_t kUs = kPicosecondsPerMicrosecond;
  EXPECT_THAT(clusters.levels.top_ps, ElementsAre(0, 1 * kUs, 8 * kUs, 14 * kUs));
  EXPECT_THAT(clusters.levels.bottom_ps, ElementsAre(15 * kUs, 10 * kUs, 7 * kUs, 1 * kUs));
  EXPECT_EQ(critical_path_ps(graph), 11 * kUs);
}

TEST(LevelWorkTest, SumsWithinSpansByDevice) {
  LevelWork work(4, 3);
  std::vector<std::int64_t> sums(3);
  const auto between = [&](std::size_t first, std::size_t last) {
    work.between(first, last, sums);
    return sums;
  };
  work.add(0, 1, 1);
  work.add(2, 1, 10);
  work.add(3, 1, 100);
  work.add(2, 1, 1000);
  work.add(1, 2, 5);
  EXPECT_THAT(between(0, 4), ElementsAre(0, 1111, 5));
  EXPECT_THAT(between(1, 3), ElementsAre(0, 1010, 5));
  EXPECT_THAT(between(2, 3), ElementsAre(0, 1010, 0));
  EXPECT_THAT(between(3, 2), ElementsAre(0, 0, 0));
  work.add(2, 1, -1000);
  EXPECT_THAT(between(2, 4), ElementsAre(0, 110, 0));
}

TEST(LocalSearch, ImprovesAnAlternatingChain) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  Placement start;
  for (int id = 0; id < 12; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 2, 3));
    if (id > 0) edges.push_back(edge_of(id - 1, id));
    start.push_back(id % 2);
  }
  const OperatorGraph graph(nodes, edges);
  const DeviceLinks links = slow_links(2, 6);
  ImproveOptions options;
  options.steps = 400;
  const Placement found =
      improve_placement(graph, links, slice_graph(graph, links), start, options);
  EXPECT_EQ(Evaluator(graph, links).run(found).makespan_ps, 24 * kPicosecondsPerMicrosecond);
  EXPECT_EQ(improve_placement(graph, links, slice_graph(graph, links), start, options), found);
}

TEST(LocalSearch, KeepsTheMemoryThatItsStartKeeps) {
  std::mt19937_64 random(23);
  int num_searched = 0;
  for (int round = 0; round < 80; ++round) {
    const OperatorGraph graph = random_graph({9, 25, true, false}, random);
    DeviceLinks links = slow_links(2, 1);
    links.memory_bytes = 35 + 5 * (round % 12);
    PlacedGraph start;
    const auto place = [&] { start = place_graph(graph, links, PlaceMethod::kEarliest); };
    if (!message_of(place).empty()) continue;
    ++num_searched;
    ImproveOptions options;
    options.steps = 300;
    const Placement found =
        improve_placement(graph, links, slice_graph(graph, links), start.placement, options);
    ASSERT_LE(std::ranges::max(evaluated_peaks(graph, links, found)), links.memory_bytes) << round;
  }
  EXPECT_GT(num_searched, 30);
}

// The tensor counts for each of 40 consumers, beyond what 64 bits hold.
TEST(MemoryRepairTest, ALargeTensorOfManyConsumersMovesThem) {
  constexpr std::int64_t kTensor = kMostGraphBytes / 4, kResident = 1000;
  std::vector<OperatorNode> nodes = {node_named("producer", 1, kTensor), node_named("fixed", 1)};
  nodes[0].resident_bytes = kResident;
  nodes[0].device = 0;
  nodes[1].resident_bytes = 2 * kResident;
  nodes[1].device = 1;
  std::vector<OperatorEdge> edges;
  for (int id = 2; id < 42; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 1));
    nodes.back().group = "consumers";
    edges.push_back(edge_of(0, id));
  }
  nodes[2].resident_bytes = kResident;
  const OperatorGraph graph(nodes, edges);
  DeviceLinks links = slow_links(2, 1);
  links.memory_bytes = kTensor + 2 * kResident + 500;
  Placement placement(42, 1);
  placement[0] = 0;
  Evaluator evaluator(graph, links);
  EXPECT_TRUE(repair_memory(graph, links, evaluator, placement));
  EXPECT_EQ(std::ranges::count(placement, 1), 1);
}

// A long chain, and at each of its nodes work that nothing waits for: exchange hides behind the
// chain, so the work belongs to the other device.
TEST(ParDnnTest, SideWorkLeavesTheDeviceOfTheLongestWay) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  constexpr int kLength = 40;
  for (int id = 0; id < kLength; ++id) {
    nodes.push_back(node_named("chain" + std::to_string(id), 10, 8));
    if (id > 0) edges.push_back(edge_of(id - 1, id));
  }
  for (int id = 0; id < kLength - 4; ++id) {
    nodes.push_back(node_named("side" + std::to_string(id), 8));
    edges.push_back(edge_of(id, kLength + id));
  }
  const OperatorGraph graph(nodes, edges);
  const PlacedGraph placed = place_graph(graph, slow_links(2, 2), PlaceMethod::kParDnn);
  EXPECT_EQ(placed.makespan_ps, kLength * 10 * kPicosecondsPerMicrosecond);
}

}  // namespace
}  // namespace tandem::planner
