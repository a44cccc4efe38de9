// SPDX-License-Identifier: Apache-2.0
//
// read_graph_onnx: reads the operators of an ONNX model as a graph for placement.
//
// A node is an operator. Its name comes from the file and is made unique; without one it is the
// operator type and a number. Times come from OnnxCosts, or from `times` with lines "name::us", one
// set per kind of device. The first output is sent to a device once, other outputs once per
// consumer. A weight is resident with its operator. If several operators share a weight of up to 1
// MiB, each has a copy; a larger one puts them into one group. Constants have no cost and no edges.
// Threads: pure. Errors: Error("onnx", ...) that names the field, the operator or the line.
#pragma once

#include <istream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "planner/graph/operator_graph.h"
#include "planner/onnx/onnx_costs.h"

namespace tandem::planner {

// A kind of device.
struct OnnxDevice {
  std::string sheet = "a100";  // the times follow the DeviceSheet of this name
  std::istream* times = nullptr;
  std::string times_file;  // its name for messages
};

struct OnnxOptions {
  std::vector<OnnxDevice> devices = {OnnxDevice()};  // one per kind
  OnnxSizes sizes;                                   // of named dimensions
};

struct OnnxGraph {
  OperatorGraph graph;
  std::set<std::string> unnamed_sizes;  // named dimensions without a size; they count 1
  int num_without_shape = 0;  // outputs with consumers but without a shape; they count 0 bytes
};

OnnxGraph read_graph_onnx(std::string_view file, const OnnxOptions& options);

}  // namespace tandem::planner
