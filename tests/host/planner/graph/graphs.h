// SPDX-License-Identifier: Apache-2.0
//
// Small graphs of operators.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "planner/graph/device_links.h"
#include "planner/graph/operator_graph.h"

namespace tandem::planner {

inline OperatorNode node_named(const std::string& name, std::int64_t us, std::int64_t output = 0) {
  OperatorNode node;
  node.name = name;
  node.time_ps = us * kPicosecondsPerMicrosecond;
  node.output_bytes = output;
  return node;
}

inline OperatorEdge edge_of(int from, int to, std::int64_t own_bytes = kOutputOfNode) {
  OperatorEdge edge;
  edge.from = from;
  edge.to = to;
  edge.own_bytes = own_bytes;
  return edge;
}

// 1 byte per microsecond.
inline DeviceLinks slow_links(int num_devices, std::int64_t latency_us) {
  DeviceLinks links;
  links.num_devices = num_devices;
  links.latency_ps = latency_us * kPicosecondsPerMicrosecond;
  links.bytes_per_us = 1;
  return links;
}

struct RandomGraph {
  int num_nodes = 8;
  int edge_percent = 30;
  bool has_memory = false, has_rules = false;
  int num_kinds = 1;
};

// Edges lead from smaller to larger numbers, named in another order.
inline OperatorGraph random_graph(const RandomGraph& shape, std::mt19937_64& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  for (int id = 0; id < shape.num_nodes; ++id) {
    OperatorNode node = node_named("n" + std::to_string(id), draw(0, 20), draw(0, 12));
    if (shape.has_memory && draw(0, 2) == 0) node.resident_bytes = draw(1, 20);
    if (shape.has_memory && draw(0, 2) == 0) node.workspace_bytes = draw(1, 10);
    if (shape.has_rules && draw(0, 3) == 0) node.group = draw(0, 1) == 0 ? "a" : "b";
    if (shape.has_rules && node.group.empty() && draw(0, 5) == 0) node.device = draw(0, 1);
    for (int kind = 0; shape.num_kinds > 1 && kind < shape.num_kinds; ++kind) {
      node.kind_ps.push_back(draw(0, 20 * (kind + 1)) * kPicosecondsPerMicrosecond);
    }
    nodes.push_back(node);
    for (int from = 0; from < id; ++from) {
      if (draw(0, 99) >= shape.edge_percent) continue;
      edges.push_back(draw(0, 3) == 0 ? edge_of(from, id, draw(0, 9)) : edge_of(from, id));
    }
  }
  return OperatorGraph(std::move(nodes), std::move(edges));
}

inline Placement random_placement(int num_nodes, int num_devices, std::mt19937_64& random) {
  Placement placement;
  for (int id = 0; id < num_nodes; ++id) {
    placement.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(num_devices)));
  }
  return placement;
}

}  // namespace tandem::planner
