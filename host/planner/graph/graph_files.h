// SPDX-License-Identifier: Apache-2.0
//
// Operator graphs from files.
//
// JSON: {"nodes": [{"name", "us", "output_bytes", "resident_bytes", "workspace_bytes", "group",
// "device"}], "edges": [["from", "to"], ["from", "to", bytes]]}; an edge may be an object with
// "from", "to" and "bytes"; ends are names or numbers of nodes. Only "name" and "us" are needed;
// where kinds of devices differ, "us" is an object: {"gpu": 5, "cpu": 60.5}.
// Triple, as profilers of TensorFlow 1 leave it: a folder with `graph.dot`, `durations.txt` of
// lines "name::us" and `sizes.txt` of lines "name::bytes", the size of a node's output. A node
// without a size has an output of 0 bytes. Threads: pure. Errors: Error naming file and line, or
// the field.
#pragma once

#include <istream>
#include <string>

#include "planner/graph/operator_graph.h"

namespace tandem::planner {

// `kinds`: names of kinds of devices, in the order of OperatorNode::kind_ps; empty: one kind.
// A node has a time for each of them, or one for all. Times of other kinds are passed over.
OperatorGraph read_graph_json(std::istream& in, const std::vector<std::string>& kinds = {});

struct TripleGraph {
  OperatorGraph graph;
  int num_without_size = 0;  // nodes with consumers
};
TripleGraph read_triple(std::istream& dot, std::istream& durations, std::istream& sizes);
TripleGraph read_graph_triple(const std::string& folder);

}  // namespace tandem::planner
