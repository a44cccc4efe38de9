// SPDX-License-Identifier: Apache-2.0
//
// read_layer_trace: reads measured times and sizes of the layers of a model from CSV.
//
// Each line is one layer, or one layer of one step. The header names the columns in any order:
// `time_us` (also _ns, _ms, _s; or `forward_us` and `backward_us`, which are added), and optionally
// `layer`, `bytes` and `step`. Other columns are ignored. Without a header a line is the time;
// layer and time; or layer, time and bytes; times in microseconds. Every step has the same layers
// in the same order. Threads: pure. Errors: Error with the line.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct TraceStep {
  std::string name;  // empty if there is no column of steps
  std::vector<LayerCost> layers;
};

struct LayerTrace {
  std::vector<std::string> layer_names;
  std::vector<TraceStep> steps;  // at least one
};

LayerTrace read_layer_trace(std::istream& in);

}  // namespace tandem::planner
