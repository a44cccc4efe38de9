// SPDX-License-Identifier: Apache-2.0
//
// read_dot: reads nodes and edges of a directed graph in the DOT language.
//
// Attributes and comments are skipped; subgraphs are refused. Nodes have the order of their first
// mention in the text. Threads: pure. Errors: Error with the line of graph.dot.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/graph/operator_graph.h"

namespace tandem::planner {

struct NamedGraph {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  std::unordered_map<std::string, int> ids;

  int id_of(const std::string& name) {
    const auto [found, is_new] = ids.emplace(name, static_cast<int>(nodes.size()));
    if (is_new) {
      OperatorNode node;
      node.name = name;
      nodes.push_back(std::move(node));
    }
    return found->second;
  }
};

NamedGraph read_dot(std::string text);

}  // namespace tandem::planner
