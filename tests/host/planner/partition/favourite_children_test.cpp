// SPDX-License-Identifier: Apache-2.0
//
// m-SCT: favourite children by the linear programme, and placements that follow them.
#include "planner/partition/favourite_children.h"

#include <gmock/gmock.h>

#include <set>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"
#include "host/planner/partition/placements.h"
#include "planner/partition/list_placement.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceLinks two_devices() {
  DeviceLinks links;
  links.num_devices = 2;
  links.bytes_per_us = 1;
  return links;
}

TEST(FavouriteChildren, AreThoseWhoseDataTakesLongest) {
  if (!has_linear_solver()) GTEST_SKIP() << "coinor-libclp-dev is not installed";
  // a feeds b with 10 us of data and c with 2 us; b and c feed d with 3 us and 8 us.
  const OperatorGraph graph(
      {node_named("a", 5, 0), node_named("b", 5, 0), node_named("c", 5, 0), node_named("d", 5, 0)},
      {{.from = 0, .to = 1, .own_bytes = 10},
       {.from = 0, .to = 2, .own_bytes = 2},
       {.from = 1, .to = 3, .own_bytes = 3},
       {.from = 2, .to = 3, .own_bytes = 8}});
  EXPECT_THAT(favourite_children(graph, two_devices()),
              ElementsAre(1, kNoFavourite, 3, kNoFavourite));
}

TEST(FavouriteChildren, ALonelyNodeHasNone) {
  if (!has_linear_solver()) GTEST_SKIP() << "coinor-libclp-dev is not installed";
  EXPECT_THAT(favourite_children(OperatorGraph({node_named("a", 5, 1)}, {}), two_devices()),
              ElementsAre(kNoFavourite));
}

TEST(FavouriteChildren, HaveOneParentAndShareItsDevice) {
  if (!has_linear_solver()) GTEST_SKIP() << "coinor-libclp-dev is not installed";
  std::mt19937_64 random(5);
  int num_favourites = 0, num_better = 0;
  for (int round = 0; round < 100; ++round) {
    const OperatorGraph graph = random_graph({14, 25, false, false, 1}, random);
    const DeviceLinks links = slow_links(3, 0);
    const std::vector<int> favourites = favourite_children(graph, links);
    const Placement placement = place_small_communication(graph, links);
    std::set<int> children;
    for (int node = 0; node < graph.num_nodes(); ++node) {
      const int child = favourites[static_cast<std::size_t>(node)];
      if (child == kNoFavourite) continue;
      ++num_favourites;
      EXPECT_TRUE(children.insert(child).second) << "two parents";
      EXPECT_EQ(placement[static_cast<std::size_t>(child)],
                placement[static_cast<std::size_t>(node)]);
    }
    const auto of = [&](PlaceMethod method) {
      return place_graph(graph, links, method).makespan_ps;
    };
    num_better += of(PlaceMethod::kSmallComm) < of(PlaceMethod::kEarliest) ? 1 : 0;
    EXPECT_LE(of(PlaceMethod::kAuto), of(PlaceMethod::kSmallComm));
  }
  EXPECT_GT(num_favourites, 300);
  EXPECT_GT(num_better, 10) << "than m-ETF";
}

TEST(FavouriteChildren, PlacementsKeepRulesAndMemory) {
  if (!has_linear_solver()) GTEST_SKIP() << "coinor-libclp-dev is not installed";
  std::mt19937_64 random(7);
  int num_placed = 0;
  for (int round = 0; round < 60; ++round) {
    const OperatorGraph graph = random_graph({9, 25, true, round % 2 == 1, 2}, random);
    DeviceLinks links = slow_links(2, 1);
    links.kinds = {0, 1};
    links.memories = {120, 60};
    PlacedGraph placed;
    const std::string refused =
        message_of([&] { placed = place_graph(graph, links, PlaceMethod::kSmallComm); });
    if (!refused.empty()) continue;
    ++num_placed;
    EXPECT_EQ(placed.method, "msct");
    EXPECT_TRUE(keeps_rules(graph, placed.placement));
    EXPECT_TRUE(links.fits(placed.peak_bytes));
  }
  EXPECT_GT(num_placed, 20);
}

TEST(FavouriteChildren, AreForGraphsOfLimitedSize) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < kMostFavouriteEdges + 2; ++id) {
    nodes.push_back(node_named("n" + std::to_string(id), 1, 1));
    if (id > 0) edges.push_back({.from = id - 1, .to = id});
  }
  const OperatorGraph graph(std::move(nodes), std::move(edges));
  EXPECT_THAT(message_of([&] { favourite_children(graph, two_devices()); }),
              HasSubstr(has_linear_solver() ? "at most 20000 edges; this graph has 20001"
                                            : "install coinor-libclp-dev"));
}

}  // namespace
}  // namespace tandem::planner
