// SPDX-License-Identifier: Apache-2.0
//
// Machines with round numbers, for tests of step times and modes.
#pragma once

#include "planner/mode/step_time.h"

namespace tandem::planner {

inline constexpr double kPlenty = 1e9;  // bytes that no load of these tests fills

// Own attention 1 us per token and layer; dense layers 1 ms per layer up to 64 rows.
inline MachineModel machine_with(std::vector<double> remote_s_per_token, double latency_s = 0) {
  MachineModel machine;
  machine.num_layers = 32;
  machine.compute.dense_by_rows = Curve({{64, 32e-3}, {128, 64e-3}});
  machine.bytes_to_unit = 1, machine.bytes_from_unit = 1;
  UnitModel own;
  own.attention.by_tokens = Curve::line(0, 1e-6);
  own.is_own = true;
  machine.units.push_back(own);
  for (const double seconds : remote_s_per_token) {
    UnitModel unit;
    unit.attention.by_tokens = Curve::line(0, seconds);
    unit.to_unit = unit.from_unit = {latency_s, 1e12};
    machine.units.push_back(unit);
  }
  return machine;
}

}  // namespace tandem::planner
