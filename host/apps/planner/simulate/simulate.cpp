// SPDX-License-Identifier: Apache-2.0
//
// `tandem simulate`: a load on devices that one need not own, by the daemon's scheduler and KV
// cache in virtual time.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "apps/planner/command.h"
#include "apps/planner/simulate/simulate_options.h"
#include "apps/planner/simulate/simulate_report.h"
#include "apps/planner/simulate/studies.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

// On a terminal only, on one line.
simulation::SimulationProgress progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](std::uint64_t done, std::int64_t expected) {
    const std::string of = expected > 0 ? fmt::format(" of {}", expected) : std::string();
    fmt::print(stderr, "\r{}{} requests", done, of);
  };
}

void list_presets() {
  fmt::print("models\n");
  for (const planner::ModelShape& model : planner::model_presets()) {
    fmt::print("  {:<16} {:>7.2f} G parameters, {} layers, {}:{} heads, context {}\n", model.name,
               model.parameters() / 1e9, model.num_layers, model.q_heads, model.kv_heads,
               model.context_length);
  }
  fmt::print("devices\n");
  for (const planner::DeviceSheet& device : planner::device_presets()) {
    fmt::print("  {:<12} {:>5.0f} GB {:>6.0f} GB/s {:>6.1f} TFLOPS f16 {:>5.0f} W  {}\n",
               device.name, device.memory_bytes / 1e9, device.bytes_per_s / 1e9,
               device.f16_ops_per_s / 1e12, device.busy_w, device.source);
  }
  fmt::print("links\n");
  for (const planner::LinkSheet& link : planner::link_presets()) {
    fmt::print("  {:<12} {:>6.1f} GB/s {:>5.1f} us  {}\n", link.name, link.bytes_per_s / 1e9,
               link.latency_s * 1e6, link.source);
  }
}

void run_load(const SimulateOptions& options) {
  require_option(options.model, "--model");
  require_option(options.devices, "--devices");
  if (options.load.empty()) require_option(options.trace, "--load or --trace");
  const simulation::ServingOptions serving = serving_options(options);
  const simulation::MachineSpec machine = machine_of(options, options.devices);
  const simulation::SimulationProgress progress = progress_line();
  const simulation::ServingResult result =
      simulation::simulate_serving(machine, serving, load_of(options), progress);
  if (progress) fmt::print(stderr, "\r\033[K");
  const SimulatedCase of{serving.model.name,
                         options.devices,
                         options.load.empty() ? options.trace : options.load,
                         options.seed,
                         options.target_itl_ms,
                         load_assumed(options)};
  const nlohmann::json object = simulation_json(of, result);
  fmt::print("{}", options.json ? object.dump(2) + "\n" : simulation_table(of, result));
  if (!options.csv.empty()) write_file(options.csv, csv_of(object));
  if (!options.svg.empty()) write_file(options.svg, simulation_svg(of, result));
}

// An option that the chosen study does not use is an error.
void check_study(const SimulateOptions& o) {
  const std::pair<bool, const char*> studies[] = {{o.list, "--list"},
                                                  {!o.reproduce.empty(), "--reproduce"},
                                                  {o.suggest, "--suggest"},
                                                  {o.map, "--map"},
                                                  {o.design, "--design"}};
  std::string study;
  for (const auto& [is_asked, name] : studies) {
    if (!is_asked) continue;
    if (!study.empty()) throw Error("simulate", study + " and " + name + " exclude each other");
    study = name;
  }
  if (study.empty()) return;
  if (!o.csv.empty()) throw Error("simulate", study + " writes no --csv: it has --json");
  if (!o.svg.empty() && !o.map && !o.design) {
    throw Error("simulate", study + " draws no --svg; a load, --map and --design do");
  }
}

void run(const SimulateOptions& options) {
  check_study(options);
  if (options.list) {
    list_presets();
  } else if (!options.reproduce.empty()) {
    run_reproduce(options);
  } else if (options.suggest) {
    run_suggest(options);
  } else if (options.map) {
    run_map(options);
  } else if (options.design) {
    run_design(options);
  } else {
    run_load(options);
  }
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error("simulate", "cannot write '" + path + "': " + std::strerror(errno));
}

simulation::Load load_of(const SimulateOptions& options) {
  if (options.trace.empty()) {
    return {simulation::parse_load(options.load), options.seed};
  }
  std::ifstream file(options.trace);
  if (!file) throw Error("trace", "cannot read '" + options.trace + "': " + std::strerror(errno));
  return simulation::Load(simulation::read_trace(file));
}

std::string load_assumed(const SimulateOptions& options) {
  if (options.load.empty()) return {};
  return simulation::assumptions_of(simulation::parse_load(options.load));
}

void add_simulate(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Serve a load in virtual time on devices that one need not own");
  auto options = std::make_shared<SimulateOptions>();
  add_simulate_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace tandem::apps
