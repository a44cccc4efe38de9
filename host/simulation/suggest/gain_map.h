// SPDX-License-Identifier: Apache-2.0
//
// gain_map: where attention units pay, over batch, context, GQA group and KV type.
//
// A cell compares decode throughput of a machine with its units and without them, each with as many
// of the sequences as its memory holds, in the mode with the least predicted time. It pays where
// the gain exceeds the ratio of the prices. Threads: pure functions. Errors: those of
// model_server(); Error("simulate", ...) for a measured machine, whose table has one KV type and
// one head group, and for a machine without units.
#pragma once

#include <vector>

#include "simulation/serving/serving_options.h"

namespace tandem::simulation {

struct MapCell {
  int batch = 0, context = 0, head_group = 0;
  DType kv_dtype = DType::kF16;
  double tokens_per_s = 0, gain = 0;  // gain: over the compute device alone; 0: it holds none
  bool pays = false;
};

struct GainMap {
  double price_ratio = 1;  // with the units over without
  std::vector<MapCell> cells;
};

// `options.model` gives all but the number of KV heads. Groups that do not divide its query heads
// are left out.
GainMap gain_map(const MachineSpec& machine, const ServingOptions& options);

}  // namespace tandem::simulation
