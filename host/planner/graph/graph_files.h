// SPDX-License-Identifier: Apache-2.0
//
// Reads operator graphs from files.
//
// JSON: {"nodes": [{"name", "us", "output_bytes", "resident_bytes", "workspace_bytes", "group",
// "device"}], "edges": [["from", "to"], ["from", "to", bytes]]}. An edge may also be an object with
// "from", "to" and "bytes"; its ends are names or indices of nodes. Only "name" and "us" are
// required. With several kinds of devices, "us" is an object: {"gpu": 5, "cpu": 60.5}.
// Triple, the output of TensorFlow 1 profilers: a folder with `graph.dot`, `durations.txt` (lines
// "name::us") and `sizes.txt` (lines "name::bytes", the output of a node; 0 if missing). Threads:
// pure. Errors: Error that names the file and line, or the field.
#pragma once

#include <istream>
#include <string>

#include "planner/graph/operator_graph.h"

namespace tandem::planner {

// `kinds`: names of the kinds of devices, in the order of OperatorNode::kind_ps; empty: one kind. A
// node has a time per kind, or one time for all. Times of other kinds are ignored.
OperatorGraph read_graph_json(std::istream& in, const std::vector<std::string>& kinds = {});

struct TripleGraph {
  OperatorGraph graph;
  int num_without_size = 0;  // nodes that have consumers but no size
};
TripleGraph read_triple(std::istream& dot, std::istream& durations, std::istream& sizes);
TripleGraph read_graph_triple(const std::string& folder);

}  // namespace tandem::planner
