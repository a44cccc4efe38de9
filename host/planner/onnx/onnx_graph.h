// SPDX-License-Identifier: Apache-2.0
//
// read_graph_onnx: the operators of an ONNX model as a graph to place.
//
// Times are one per kind of device where there are several. A node is an operator; its name is that
// of the file, made unique, or the kind of operator and a number. Times follow OnnxCosts, or stand
// in `times` as lines "name::us". The first output goes to a device once, others once per consumer.
// A weight is resident with its operator; where several operators share one, up to 1 MiB each has a
// copy, and a larger one keeps them together. Constants take nothing and go with their consumers:
// they have no edges. Threads: pure. Errors: Error("onnx", ...) naming the field, the operator or
// the line.
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
  std::string sheet = "a100";  // DeviceSheet of that name gives the times
  std::istream* times = nullptr;
  std::string times_file;  // for messages
};

struct OnnxOptions {
  std::vector<OnnxDevice> devices = {OnnxDevice()};  // one per kind
  OnnxSizes sizes;                                   // of dimensions that have names
};

struct OnnxGraph {
  OperatorGraph graph;
  std::set<std::string> unnamed_sizes;  // that count 1
  int num_without_shape = 0;            // outputs with consumers that count 0 bytes
};

OnnxGraph read_graph_onnx(std::string_view file, const OnnxOptions& options);

}  // namespace tandem::planner
