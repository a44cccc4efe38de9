// SPDX-License-Identifier: Apache-2.0
//
// VirtualMachine: lets time pass in virtual devices as a cost table says, with units that can be
// slowed on purpose. Threads: one.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "engine/planning/step_work.h"
#include "host/engine/loop/virtual_devices.h"
#include "planner/mode/step_time.h"

namespace tandem::engine {

class VirtualMachine {
 public:
  explicit VirtualMachine(planner::MachineModel machine) : machine_(std::move(machine)) {}

  const planner::MachineModel& now() const { return machine_; }
  // Its attention and its links, from now on.
  void slow_down(std::size_t unit, double factor) {
    planner::UnitModel& slowed = machine_.units.at(unit);
    slowed.attention.correction *= factor;
    slowed.launch_s *= factor;
    for (planner::LinkCost* link : {&slowed.to_unit, &slowed.from_unit}) {
      link->latency_s *= factor;
      link->bytes_per_s /= factor;
    }
  }

  // What a way costs besides what the table says: a factor of the whole step.
  double early_factor = 1, ring_factor = 1;

  VirtualStep step(std::span<const RunnerItem> items, const StepWay& way = {}) const {
    std::vector<planner::SubBatch> batches(2);
    for (planner::SubBatch& batch : batches) batch.units.resize(machine_.units.size());
    for (const RunnerItem& item : items) {
      PageTable table;
      table.blocks.assign(item.blocks.begin(), item.blocks.end());
      table.held.resize(machine_.units.size());
      for (const BlockPlace& place : item.blocks)
        ++table.held[static_cast<std::size_t>(place.unit)];
      const StepItem row{0, item.past, static_cast<int>(item.tokens.size()),
                         item.logits != LogitRows::kNone, item.sub_batch};
      add_step_work(machine_, row, table, batches[static_cast<std::size_t>(item.sub_batch)]);
    }
    if (batches[1].rows == 0) batches.pop_back();
    planner::StepTime time;
    planner::step_time(machine_, batches, way.early_queries, time);
    const double besides = (way.early_queries ? early_factor : 1) * (way.rings ? ring_factor : 1);
    VirtualStep step{time.total * besides, {}, {}};
    double pairs = 0;
    for (const planner::SubBatch& batch : batches) pairs += batch.causal_pairs;
    step.parts.dense = time.dense;
    step.parts.causal = machine_.num_layers * pairs * machine_.causal_pair_s;
    step.parts.merge = time.merge;
    step.parts.sampling = time.sampling;
    for (std::size_t u = 0; u < machine_.units.size(); ++u) {
      step.unit_busy_s.push_back(machine_.units[u].is_own ? time.own_attention - step.parts.causal
                                                          : time.units[u] + time.links[u]);
    }
    return step;
  }

 private:
  planner::MachineModel machine_;
};

// The table from which the planner has a machine; units are called "unit 0", "unit 1", ...
inline planner::CostTable table_of(const planner::MachineModel& machine, const std::string& compute,
                                   const std::vector<std::string>& units) {
  planner::CostTable table;
  table.devices.push_back(machine.compute);
  table.devices.back().id = compute;
  table.devices.back().causal_pair_s = machine.causal_pair_s;
  for (std::size_t u = 0; u < units.size(); ++u) {
    planner::DeviceCost& device = table.devices.emplace_back();
    device.id = units[u];
    device.attention = {machine.units[u].attention};
    device.to_device = machine.units[u].to_unit;
    device.from_device = machine.units[u].from_unit;
    device.launch_s = machine.units[u].launch_s;
    device.page_move_s = machine.units[u].page_move_s;
  }
  return table;
}

}  // namespace tandem::engine
