// SPDX-License-Identifier: Apache-2.0
//
// measure_costs: measures the devices of an engine before it serves, in seconds.
//
// Steps of 1, 2, 4, ... rows in the runner measure the dense layers. Batches on the units measure
// attention, links and page moves. Both overwrite pages, so the pages must be empty. When the time
// is used up, larger sizes are skipped, and the curves are extended by their last piece. Threads:
// the engine's. Errors: those of the runner and the units; Error("cost model", ...) if one does not
// answer. With `on_unmeasured` these errors go there, and the table holds what the device states.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/loop/named_unit.h"
#include "engine/steps/step_runner.h"
#include "planner/cost/cost_model.h"

namespace tandem::engine {

struct MeasureOptions {
  std::string compute_id;
  int num_layers = 1;
  int vocab_size = 1;
  int max_rows = 256;  // of a step and of a batch
  double seconds = 4;  // time limit for the dense layers
  double seconds_per_unit = 0.7;
  std::function<void(const std::string& why)> on_unmeasured = {};
};

// Whether the unit works in the compute device's queue or inside its calls.
bool is_own_unit(const StepRunner& runner, const device::AttentionUnit& unit);

// Leaves the table's key and driver versions empty.
planner::CostTable measure_costs(StepRunner& runner, std::span<const NamedUnit> units,
                                 const MeasureOptions& options);

// Measures one unit: attention, launch or links, page moves.
planner::DeviceCost measure_unit(const NamedUnit& unit, const MeasureOptions& options);

}  // namespace tandem::engine
