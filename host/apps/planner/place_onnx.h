// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem place --format onnx`, and the function that reads the graph with them.
//
// Threads: one. Errors: Error("place", ...) naming the option, Error("onnx", ...) naming the field.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "planner/graph/operator_graph.h"

namespace tandem::apps {

struct OnnxFileOptions {
  std::vector<std::string> rates;  // "SHEET", or "KIND=SHEET"
  std::vector<std::string> times;  // "FILE" of lines "name::us", or "KIND=FILE"
  std::vector<std::string> dims;   // "batch=8"
};

void add_onnx_options(CLI::App& command, OnnxFileOptions& options);
// Throws Error if one of the options is given.
void refuse_onnx_options(const OnnxFileOptions& options);
// Warns about sizes that count 1 and outputs that count 0 bytes. A kind of device without --rates
// uses the data sheet of the same name; if there are no kinds, the default is an A100.
planner::OperatorGraph read_onnx_file(const std::string& path,
                                      const std::vector<std::string>& kinds,
                                      const OnnxFileOptions& options);

}  // namespace tandem::apps
