// SPDX-License-Identifier: Apache-2.0
//
// estimate_costs: a cost table from what devices state, where nothing has been measured.
//
// Bytes over bandwidth, and assumptions where a device states nothing: the first steps correct
// them. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/attention_unit.h"
#include "engine/loop/named_unit.h"
#include "planner/cost/cost_model.h"

namespace tandem::engine {

planner::AttentionKind attention_kind(const device::AttentionGeometry& geometry);

// Of one row of one layer: q, k and v on the way to a unit, results and their LSE back.
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

// What `from` costs as an attention unit.
void set_unit_costs(const planner::DeviceCost& from, planner::DeviceCost& to);

// The entry of this id; a new one where there is none.
planner::DeviceCost& entry_of(planner::CostTable& table, const std::string& id);

}  // namespace tandem::engine
