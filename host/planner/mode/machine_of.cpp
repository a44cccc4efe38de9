// SPDX-License-Identifier: Apache-2.0
//
// Look-ups. The own unit has no link.
#include "planner/mode/machine_of.h"

#include "common/error.h"

namespace tandem::planner {
namespace {

const DeviceCost& device_in(const CostTable& table, const std::string& id) {
  const DeviceCost* device = table.find(id);
  if (device == nullptr) throw Error("cost model", "the table has no device " + id);
  return *device;
}

std::string text_of(const AttentionKind& kind) {
  return std::to_string(kind.head_group) + " query heads per KV head with " +
         std::string(dtype_name(kind.kv_dtype)) + " KV";
}

}  // namespace

UnitModel unit_of(const DeviceCost& device, const AttentionKind& kind, bool is_own) {
  const AttentionCost* attention = device.attention_of(kind);
  if (attention == nullptr) {
    const auto& others = device.attention;
    throw Error("cost model", "the table has no attention of " + text_of(kind) + " for " +
                                  device.id +
                                  (others.empty() ? "" : ", but of " + text_of(others[0].kind)));
  }
  UnitModel unit;
  unit.attention = *attention;
  unit.page_move_s = device.page_move_s;
  unit.launch_s = device.launch_s;
  unit.is_own = is_own;
  if (is_own) return unit;
  unit.to_unit = device.to_device;
  unit.from_unit = device.from_device;
  unit.early_submit_s = device.launch_s + device.to_device.latency_s;
  unit.append_s = unit.early_submit_s + device.from_device.latency_s;
  return unit;
}

MachineModel machine_of(const CostTable& table, const std::string& compute,
                        std::span<const ServingUnit> units, const ServingShape& shape) {
  MachineModel machine;
  machine.compute = device_in(table, compute);
  machine.causal_pair_s = machine.compute.causal_pair_s;
  machine.num_layers = shape.num_layers;
  machine.bytes_to_unit = shape.bytes_to_unit;
  machine.bytes_from_unit = shape.bytes_from_unit;
  machine.early_share = shape.early_share;
  for (const ServingUnit& unit : units) {
    machine.units.push_back(unit_of(device_in(table, unit.id), shape.kind, unit.is_own));
  }
  // The times of the dense layers have their launches in them; the rest is the own unit's.
  machine.compute.launch_s = 0;
  return machine;
}

}  // namespace tandem::planner
