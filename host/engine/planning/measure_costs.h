// SPDX-License-Identifier: Apache-2.0
//
// measure_costs: measures the devices of an engine before it serves, in seconds.
//
// Steps of 1, 2, 4, ... rows through the runner give the dense layers; batches of the units give
// attention, links and page moves. It overwrites pages, so nothing may be in them. Where the time
// is over, larger amounts are left out, and the curves go on as their last pieces do. Threads: the
// engine's. Errors: those of the runner and the units; Error("cost model", ...) when one gives no
// answer. With `on_unmeasured` these go there, and what the device states stands in the table.
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
  double seconds = 4;  // of the dense layers
  double seconds_per_unit = 0.7;
  std::function<void(const std::string& why)> on_unmeasured = {};
};

// Whether the unit works in the compute device's queue or inside its calls.
bool is_own_unit(const StepRunner& runner, const device::AttentionUnit& unit);

// The key is left empty, and drivers too.
planner::CostTable measure_costs(StepRunner& runner, std::span<const NamedUnit> units,
                                 const MeasureOptions& options);

// One unit: attention, launch or links, page moves.
planner::DeviceCost measure_unit(const NamedUnit& unit, const MeasureOptions& options);

}  // namespace tandem::engine
