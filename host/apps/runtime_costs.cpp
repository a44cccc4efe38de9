// SPDX-License-Identifier: Apache-2.0
//
// The costs of the devices of a runtime: measured and stored, or the figures that devices state.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include "apps/runtime.h"
#include "apps/serving_costs.h"
#include "common/processors.h"
#include "engine/planning/estimate_costs.h"
#include "engine/planning/measure_costs.h"

namespace tandem::apps {
namespace {

std::string driver_of(const device::DeviceInfo& info) {
  return info.name + ", " + driver_version(info.kind);
}

// The processors identify a machine, because containers on it have different host names.
planner::CostKey cost_key(const RuntimeOptions& options, const model::ModelConfig& config,
                          const engine::LoadedWeights& weights, const device::DeviceInfo& cpu) {
  planner::CostKey key;
  key.machine = fmt::format("{}, {} processors", cpu.name, this_machine().processors.size());
  key.model = fmt::format("{} {}, {} layers, {:.0f} M parameters, {} bytes", config.architecture,
                          config.name, config.num_layers,
                          static_cast<double>(config.parameters) / 1e6, weights.bytes);
  key.options =
      fmt::format("{} compute={} split={} attention={} kv={} quantize={} threads={} rows={}",
                  TANDEM_VERSION, options.compute, options.split, options.attention,
                  options.kv_dtype, options.quantize, options.threads, options.max_step_tokens);
  return key;
}

}  // namespace

// If there is no choice, costs are not measured: the first steps correct the stated figures.
planner::CostTable Runtime::costs_of(engine::StepRunner& runner,
                                     std::span<const engine::NamedUnit> units) {
  const RuntimeOptions& options = parts_.options();
  const device::DeviceInfo& compute = parts_.compute_device().info();
  const bool chooses = options.attention == "auto" && units.size() > 1;
  if (!chooses && options.target_itl_ms <= 0 && !options.measures) {
    const auto weights = static_cast<double>(runner.weights().bytes);
    return engine::estimate_costs({compute.id, weights, compute.memory_bandwidth_bytes_per_s},
                                  units);
  }
  const model::ModelConfig& config = parts_.model().config();
  engine::MeasureOptions measure;
  measure.compute_id = compute.id;
  measure.num_layers = config.num_layers;
  measure.vocab_size = config.vocab_size;
  measure.max_rows = options.max_step_tokens;
  CostSource source;
  source.wanted.drivers = {{compute.id, driver_of(compute)}};
  for (const engine::NamedUnit& unit : units) {
    source.wanted.drivers[unit.id] = driver_of(parts_.device(unit.id).info());
  }
  source.wanted.key = cost_key(options, config, runner.weights(), parts_.device("cpu").info());
  source.file = cost_file(source.wanted.key);
  source.anew = options.measures;
  source.measure = [&] {
    MeasuredCosts measured;
    // A device that gives no answer is no reason not to serve with the others.
    if (!options.measures) {
      measure.on_unmeasured = [&measured](const std::string& why) {
        measured.is_whole = false;
        spdlog::warn("{}; its costs are taken from what it states", why);
      };
    }
    measured.table = engine::measure_costs(runner, units, measure);
    return measured;
  };
  return stored_costs(source);
}

}  // namespace tandem::apps
