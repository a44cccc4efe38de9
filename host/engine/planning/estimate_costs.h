// SPDX-License-Identifier: Apache-2.0
//
// estimate_costs: makes a cost table from the devices' own statements, without measurements.
//
// Times are bytes over bandwidth. Where a device states nothing, assumptions apply, and the first
// steps correct them. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/attention_unit.h"
#include "engine/loop/named_unit.h"
#include "planner/cost/cost_model.h"

namespace tandem::engine {

planner::AttentionKind attention_kind(const device::AttentionGeometry& geometry);

// Bytes of one row of one layer: q, k and v that go to a unit; results and LSE that come back.
struct RowBytes {
  double to_unit = 0, from_unit = 0;
};
RowBytes row_bytes(const device::AttentionGeometry& geometry);

struct StatedCompute {
  std::string id;
  double weight_bytes = 0;
  double bytes_per_s = 0;  // 0: unknown
};

planner::DeviceCost estimate_unit(const std::string& id, const device::AttentionUnit& unit);
planner::CostTable estimate_costs(const StatedCompute& compute, std::span<const NamedUnit> units);

// Sets the costs of `from` as an attention unit in `to`.
void set_unit_costs(const planner::DeviceCost& from, planner::DeviceCost& to);

// Returns the entry with this id; adds one if there is none.
planner::DeviceCost& entry_of(planner::CostTable& table, const std::string& id);

}  // namespace tandem::engine
