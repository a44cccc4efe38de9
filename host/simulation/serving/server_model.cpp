// SPDX-License-Identifier: Apache-2.0
//
// Turns data sheets into the planner's machine: costs per unit, and the pages in each memory.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/error.h"
#include "simulation/serving/serving_options.h"

namespace tandem::simulation {
namespace {

constexpr double kGb = 1e9;
constexpr double kMostPages = 1e9;

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", bytes / kGb);
  return text;
}

// The model in the form in which its KV is stored.
planner::ModelShape stored_model(const ServingOptions& options) {
  planner::ModelShape model = options.model;
  if (options.repeats_kv) model.kv_heads = model.q_heads;
  return model;
}

double page_bytes(const ServingOptions& options) {
  return options.page_tokens *
         planner::kv_bytes_per_token(stored_model(options), options.precision.kv_dtype);
}

std::uint32_t pages_in(double bytes, const ServingOptions& options) {
  return static_cast<std::uint32_t>(
      std::clamp(std::floor(bytes / page_bytes(options)), 0.0, kMostPages));
}

// The memory that is left after the weights.
double free_bytes(const planner::ComputeGroup& group, const ServingOptions& options) {
  const double memory = group.count * group.sheet.memory_bytes * options.memory_share;
  const double weights = options.model.parameters() * options.precision.weight_bytes;
  if (weights > memory) {
    throw Error("simulate", "the weights of " + options.model.name + " need " + gigabytes(weights) +
                                ", but the memory of " + std::to_string(group.count) + " x " +
                                group.sheet.name + " has " + gigabytes(memory) +
                                " for them: " + gigabytes(weights - memory) + " are missing");
  }
  return memory - weights;
}

planner::UnitModel own_unit(const planner::DeviceCost& compute) {
  planner::UnitModel unit;
  unit.attention = compute.attention.front();
  unit.launch_s = compute.launch_s;
  unit.is_own = true;
  return unit;
}

void add_units(const MachineSpec& spec, const ServingOptions& options, ServerModel& server) {
  for (const UnitSpec& unit : spec.units) {
    const planner::DeviceCost cost =
        planner::cost_of(unit.sheet, unit.link, stored_model(options), options.precision);
    // A card's memory holds only KV.
    const bool is_card = unit.sheet.device_class == planner::DeviceClass::kCard;
    const double share = is_card ? 1 : options.memory_share;
    const std::uint32_t pages = pages_in(unit.sheet.memory_bytes * share, options);
    for (int i = 0; i < unit.count; ++i) {
      server.machine.units.push_back(
          {cost.attention.front(), cost.to_device, cost.from_device, cost.launch_s});
      server.names.push_back(unit.sheet.name +
                             (unit.count > 1 ? ":" + std::to_string(i) : std::string()));
      server.pages.push_back(pages);
      server.sheets.push_back(unit.sheet);
    }
  }
}

// Costs and pages. The time of a row on its link is not set here.
ServerModel model_sheet_server(const MachineSpec& spec, const ServingOptions& options) {
  ServerModel server;
  const planner::ModelShape& model = options.model;
  planner::MachineModel& machine = server.machine;
  machine.compute = planner::cost_of(spec.compute, model, options.precision);
  const planner::ModelShape stored = stored_model(options);
  machine.compute.attention = planner::cost_of(spec.compute, stored, options.precision).attention;
  machine.num_layers = model.num_layers;
  machine.causal_pair_s = machine.compute.attention.front().per_pair_s;
  const double left = free_bytes(spec.compute, options);
  if (options.attention != AttentionPolicy::kUnits) {
    server.own_unit = 0;
    machine.units.push_back(own_unit(machine.compute));
    server.names.push_back(spec.compute.sheet.name);
    server.pages.push_back(pages_in(left, options));
    server.sheets.push_back(spec.compute.sheet);
  }
  if (options.attention != AttentionPolicy::kOwn) add_units(spec, options, server);
  if (machine.units.empty()) {
    throw Error("simulate", "no unit attends: name one after '+', as in l40s+4*u55c");
  }
  if (std::ranges::all_of(server.pages, [](std::uint32_t pages) { return pages == 0; })) {
    throw Error("simulate", "no memory holds a page of KV: one of " + model.name + " has " +
                                gigabytes(page_bytes(options)) + ", " + spec.compute.sheet.name +
                                " has " + gigabytes(left) + " beside the weights");
  }
  return server;
}

}  // namespace

ServerModel model_server(const MachineSpec& spec, const ServingOptions& options) {
  const planner::ModelShape& model = options.model;
  const planner::ModelShape stored = stored_model(options);
  const double head_bytes = options.row_value_bytes * model.head_dim;
  const double bytes_to_unit = (stored.q_heads + 2 * stored.kv_heads) * head_bytes;
  const double bytes_from_unit = model.q_heads * (head_bytes + sizeof(float));
  const double layer = model.ops_per_row() / (2 * model.num_layers);
  const double early_share = options.early_query ? model.kv_parameters() / layer : 0;
  ServerModel server;
  if (spec.measured) {
    const planner::AttentionKind kind{stored.head_group(), options.precision.kv_dtype};
    server = model_measured_server(spec, options,
                                   {model.num_layers, kind, bytes_to_unit, bytes_from_unit});
  } else {
    server = model_sheet_server(spec, options);
    server.machine.bytes_to_unit = bytes_to_unit;
    server.machine.bytes_from_unit = bytes_from_unit;
  }
  server.machine.early_share = early_share;
  server.machine.host_s = options.host_s;
  return server;
}

}  // namespace tandem::simulation
