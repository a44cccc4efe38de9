// SPDX-License-Identifier: Apache-2.0
//
// A machine from its measured table.
#include <algorithm>

#include "common/error.h"
#include "planner/cost/cost_table_json.h"
#include "planner/mode/machine_of.h"
#include "simulation/serving/machine_spec.h"
#include "simulation/serving/serving_options.h"

namespace tandem::simulation {
namespace {

constexpr std::int64_t kMostMeasuredPages = 4'000'000;

planner::DeviceSheet sheet_of_measured(const std::string& id) {
  planner::DeviceSheet sheet;
  sheet.name = id;
  sheet.source = "measured";
  return sheet;
}

// Enough pages for all sequences that may run.
std::uint32_t plenty(const ServingOptions& options) {
  const std::int64_t of_one = options.model.context_length / options.page_tokens + 1;
  return static_cast<std::uint32_t>(std::min(options.max_running * of_one, kMostMeasuredPages));
}

}  // namespace

MachineSpec measured_machine(std::string_view table, const std::string& name) {
  planner::CostTableRead read = planner::read_cost_table(table);
  if (!read.table) throw Error("devices", "'" + name + "': " + read.refusal);
  const auto computes = [](const planner::DeviceCost& device) {
    return device.dense_by_rows != planner::Curve();
  };
  const auto compute = std::ranges::find_if(read.table->devices, computes);
  if (compute == read.table->devices.end()) {
    throw Error("devices", "'" + name + "': no device of the table computes dense layers");
  }
  MachineSpec machine;
  machine.text = name;
  machine.compute.sheet = sheet_of_measured(compute->id);
  for (const planner::DeviceCost& device : read.table->devices) {
    if (device.id == compute->id || device.attention.empty()) continue;
    machine.units.push_back({sheet_of_measured(device.id), {}, 1});
  }
  machine.measured = std::move(read.table);
  return machine;
}

ServerModel model_measured_server(const MachineSpec& spec, const ServingOptions& options,
                                  const planner::ServingShape& shape) {
  ServerModel server;
  std::vector<planner::ServingUnit> units;
  const auto add = [&](const planner::DeviceSheet& sheet, bool is_own) {
    units.push_back({sheet.name, is_own});
    server.names.push_back(sheet.name);
    server.pages.push_back(plenty(options));
    server.sheets.push_back(sheet);
  };
  if (options.attention != AttentionPolicy::kUnits) {
    server.own_unit = 0;
    add(spec.compute.sheet, true);
  }
  if (options.attention != AttentionPolicy::kOwn) {
    for (const UnitSpec& unit : spec.units) add(unit.sheet, false);
  }
  if (units.empty())
    throw Error("simulate",
                "the cost table has no device that attends; measure with attention devices");
  server.machine = planner::machine_of(*spec.measured, spec.compute.sheet.name, units, shape);
  return server;
}

}  // namespace tandem::simulation
