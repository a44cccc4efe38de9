// SPDX-License-Identifier: Apache-2.0
//
// What a node needs at least, and where a group without a device goes.
#include "planner/partition/placement_rules.h"

#include <gmock/gmock.h>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlacementRules, ATensorThatANodeReadsTwiceTakesItsRoomOnce) {
  std::vector<OperatorNode> nodes = {node_named("a", 1, 10), node_named("b", 1, 3)};
  const OperatorGraph graph(nodes, {edge_of(0, 1), edge_of(0, 1)});
  DeviceLinks links = slow_links(1, 0);
  links.memory_bytes = 13;
  EXPECT_EQ(message_of([&] { check_placeable(graph, links); }), "");
  links.memory_bytes = 12;
  EXPECT_THAT(message_of([&] { check_placeable(graph, links); }), HasSubstr("needs 13 bytes"));
}

TEST(PlacementRules, AGroupWithoutTimesGoesWhereMostOfItsNodesAre) {
  std::vector<OperatorNode> nodes(3, node_named("", 0));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = std::to_string(i);
    nodes[i].group = "all";
  }
  Placement placement = {0, 1, 1};
  enforce_rules(OperatorGraph(nodes, {}), slow_links(2, 0), placement);
  EXPECT_THAT(placement, ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace tandem::planner
