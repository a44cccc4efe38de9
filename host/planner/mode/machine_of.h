// SPDX-License-Identifier: Apache-2.0
//
// machine_of: makes the model of a serving machine from a cost table.
//
// Threads: pure functions. Errors: Error("cost model", ...) that names the device that the table
// lacks.
#pragma once

#include <span>
#include <string>

#include "planner/mode/step_time.h"

namespace tandem::planner {

struct ServingUnit {
  std::string id;
  bool is_own = false;  // see UnitModel
};

struct ServingShape {
  int num_layers = 1;
  AttentionKind kind;
  double bytes_to_unit = 0, bytes_from_unit = 0;  // of one row of one layer
  double early_share = 0;                         // see MachineModel
};

// The model of a device as an attention unit.
UnitModel unit_of(const DeviceCost& device, const AttentionKind& kind, bool is_own);

MachineModel machine_of(const CostTable& table, const std::string& compute,
                        std::span<const ServingUnit> units, const ServingShape& shape);

}  // namespace tandem::planner
