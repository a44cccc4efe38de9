// SPDX-License-Identifier: Apache-2.0
//
// Order, units and tensors of graphs, and what graphs refuse.
#include <gmock/gmock.h>

#include <algorithm>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refused_graph(std::vector<OperatorNode> nodes, std::vector<OperatorEdge> edges) {
  return message_of([&] { OperatorGraph(std::move(nodes), std::move(edges)); });
}

TEST(OperatorGraphTest, NodesStandBehindTheirProducers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const OperatorGraph graph = random_graph({20, 20}, random);
    std::vector<int> position(20);
    for (int at = 0; at < 20; ++at) {
      position[static_cast<std::size_t>(graph.order()[static_cast<std::size_t>(at)])] = at;
    }
    for (int id = 0; id < graph.num_edges(); ++id) {
      EXPECT_LT(position[static_cast<std::size_t>(graph.edge(id).from)],
                position[static_cast<std::size_t>(graph.edge(id).to)]);
    }
  }
}

TEST(OperatorGraphTest, EdgesAreFoundFromBothEnds) {
  const OperatorGraph graph({node_named("a", 1, 5), node_named("b", 2), node_named("c", 3)},
                            {edge_of(0, 1), edge_of(0, 2, 7), edge_of(1, 2)});
  EXPECT_THAT(graph.out(0), ElementsAre(0, 1));
  EXPECT_THAT(graph.in(2), ElementsAre(1, 2));
  EXPECT_EQ(graph.edge_bytes(0), 5);
  EXPECT_EQ(graph.edge_bytes(1), 7);
  EXPECT_EQ(graph.edge_bytes(2), 0);
  EXPECT_EQ(graph.work_ps(), 6 * kPicosecondsPerMicrosecond);
}

TEST(OperatorGraphTest, GroupsAreUnits) {
  std::vector<OperatorNode> nodes = {node_named("a", 1), node_named("b", 1), node_named("c", 1)};
  nodes[0].group = nodes[2].group = "g";
  nodes[2].device = 3;
  const OperatorGraph graph(nodes, {});
  EXPECT_EQ(graph.num_units(), 2);
  EXPECT_THAT(graph.unit(graph.unit_of(2)), ElementsAre(0, 2));
  EXPECT_EQ(graph.device_of_unit(graph.unit_of(0)), 3);
  EXPECT_EQ(graph.device_of_unit(graph.unit_of(1)), kAnyDevice);
}

TEST(OperatorGraphTest, ACycleIsNamed) {
  const std::vector<OperatorNode> nodes = {node_named("a", 1), node_named("b", 1),
                                           node_named("c", 1), node_named("d", 1)};
  const std::string text =
      refused_graph(nodes, {edge_of(0, 1), edge_of(1, 2), edge_of(2, 1), edge_of(2, 3)});
  EXPECT_THAT(text, HasSubstr("the graph has a cycle: 'b' -> 'c' -> 'b'"));
  EXPECT_THAT(refused_graph(nodes, {edge_of(3, 3)}), HasSubstr("cycle: 'd' -> 'd'"));
  std::vector<OperatorNode> many;
  std::vector<OperatorEdge> ring;
  for (int id = 0; id < 100; ++id) {
    many.push_back(node_named(std::to_string(id), 1));
    ring.push_back(edge_of(id, (id + 1) % 100));
  }
  EXPECT_THAT(refused_graph(many, ring), HasSubstr("'0' -> '1' -> '2' -> '3' -> '4' -> '5' -> "
                                                   "'6' -> '7' -> '8' -> ..."));
}

TEST(OperatorGraphTest, WrongFiguresAndNamesAreRefused) {
  const OperatorNode a = node_named("a", 1), b = node_named("b", 1);
  EXPECT_THAT(refused_graph({}, {}), HasSubstr("no nodes"));
  EXPECT_THAT(refused_graph({a, a}, {}), HasSubstr("node 'a' is there twice"));
  EXPECT_THAT(refused_graph({node_named("a", -1)}, {}), HasSubstr("node 'a': the time -1000000"));
  EXPECT_THAT(refused_graph({node_named("a", 1, -2)}, {}), HasSubstr("node 'a': the output -2"));
  EXPECT_THAT(refused_graph({a, b}, {edge_of(0, 1, -2)}), HasSubstr("an edge with bytes -2"));
  OperatorNode heavy = a;
  heavy.resident_bytes = kMostGraphBytes + 1;
  EXPECT_THAT(refused_graph({heavy}, {}), HasSubstr("the resident memory"));
  heavy = a;
  heavy.workspace_bytes = -1;
  EXPECT_THAT(refused_graph({heavy}, {}), HasSubstr("the workspace -1"));
  OperatorNode longest = b;
  longest.time_ps = kMostGraphPs;
  EXPECT_THAT(refused_graph({a, longest}, {}), HasSubstr("ten days"));
  EXPECT_EQ(refused_graph({longest}, {}), "");
}

TEST(OperatorGraphTest, BytesOfAllNodesTogetherAreBounded) {
  std::vector<OperatorNode> nodes = {node_named("a", 1, kMostGraphBytes / 2), node_named("b", 1)};
  nodes[1].resident_bytes = kMostGraphBytes / 4;
  nodes[1].workspace_bytes = kMostGraphBytes / 4;
  EXPECT_EQ(refused_graph(nodes, {edge_of(0, 1)}), "");
  EXPECT_THAT(refused_graph(nodes, {edge_of(0, 1, 1)}), HasSubstr("bytes together"));
  nodes[1].output_bytes = 1;
  EXPECT_THAT(refused_graph(nodes, {}), HasSubstr("bytes together"));
}

TEST(OperatorGraphTest, AGroupOnTwoDevicesIsNamed) {
  std::vector<OperatorNode> nodes = {node_named("a", 1), node_named("b", 1)};
  nodes[0].group = nodes[1].group = "g";
  nodes[0].device = 0;
  nodes[1].device = 1;
  EXPECT_THAT(refused_graph(nodes, {}),
              HasSubstr("group 'g': node 'a' is fixed to device 0 and node 'b' to device 1"));
}

TEST(OperatorGraphTest, TimesByKindAreOfAllKinds) {
  OperatorNode a = node_named("a", 0), b = node_named("b", 0), c = node_named("c", 3);
  a.kind_ps = {5, 2};
  b.kind_ps = {1, 7};
  const OperatorGraph graph({a, b, c}, {});
  EXPECT_EQ(graph.num_kinds(), 2);
  EXPECT_EQ(graph.node(0).time_ps, 2);
  EXPECT_EQ(graph.time_ps(0, 0), 5);
  EXPECT_EQ(graph.time_ps(2, 1), 3 * kPicosecondsPerMicrosecond);
  EXPECT_EQ(graph.work_ps(), 2 + 1 + 3 * kPicosecondsPerMicrosecond);
  b.kind_ps = {1, 7, 8};
  EXPECT_THAT(message_of([&] {
                OperatorGraph({a, b}, {});
              }),
              HasSubstr("node 'b' has times of 3 kinds of devices, others of 2"));
  c.kind_ps = {1};
  EXPECT_THAT(message_of([&] {
                OperatorGraph({c, a}, {});
              }),
              HasSubstr("node 'a' has times of 2 kinds of devices, others of 1"));
  b.kind_ps = {1, -7};
  EXPECT_THAT(message_of([&] { OperatorGraph({a, b}, {}); }), HasSubstr("the time -7 is negative"));
  b.kind_ps = {1, kMostGraphPs};
  EXPECT_THAT(message_of([&] { OperatorGraph({a, b}, {}); }), HasSubstr("more than ten days"));
}

}  // namespace
}  // namespace tandem::planner
