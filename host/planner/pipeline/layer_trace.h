// SPDX-License-Identifier: Apache-2.0
//
// read_layer_trace: measured times and sizes of the layers of a model, from CSV.
//
// One line per layer, or per step and layer. The header names the columns in any order: `time_us`
// (also _ns, _ms, _s; `forward_us` and `backward_us` are added), and if wanted `layer`, `bytes` and
// `step`. Other columns are left out. Without a header a line is time, or layer and time, or layer,
// time and bytes, in microseconds. Every step has the same layers in the same order.
// Threads: pure. Errors: Error with the line.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct TraceStep {
  std::string name;  // empty without a column of steps
  std::vector<LayerCost> layers;
};

struct LayerTrace {
  std::vector<std::string> layer_names;
  std::vector<TraceStep> steps;  // at least one
};

LayerTrace read_layer_trace(std::istream& in);

}  // namespace tandem::planner
