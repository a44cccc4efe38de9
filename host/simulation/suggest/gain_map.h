// SPDX-License-Identifier: Apache-2.0
//
// gain_map: where attention units pay, by batch, context, GQA group and KV type.
//
// A cell compares the decode throughput of a machine with and without its units. Each side runs as
// many of the sequences as its memory holds, in the mode with the shortest predicted time. Units
// pay where the gain exceeds the ratio of the prices. Threads: pure functions. Errors: those of
// model_server(); Error("simulate", ...) for a machine without units, and for a measured machine,
// because its table has only one KV type and one head group.
#pragma once

#include <vector>

#include "simulation/serving/serving_options.h"

namespace tandem::simulation {

struct MapCell {
  int batch = 0, context = 0, head_group = 0;
  DType kv_dtype = DType::kF16;
  double tokens_per_s = 0,
         gain = 0;  // gain: relative to the compute device alone; 0: nothing fits in its memory
  bool pays = false;
};

struct GainMap {
  double price_ratio = 1;  // price with the units over price without
  std::vector<MapCell> cells;
};

// `options.model` gives all but the number of KV heads. GQA groups that do not divide the number of
// query heads are skipped.
GainMap gain_map(const MachineSpec& machine, const ServingOptions& options);

}  // namespace tandem::simulation
