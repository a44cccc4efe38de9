// SPDX-License-Identifier: Apache-2.0
//
// `tandem devices`: lists the devices that can compute, attend and add sparse vectors, and why
// others cannot; with --measure, the times of the parts of a model's step on them.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/backend_options.h"
#include "apps/command.h"
#include "apps/emulated_cards.h"
#include "apps/runtime.h"
#include "apps/serving_costs.h"
#include "common/processors.h"

namespace tandem::apps {
namespace {

nlohmann::json device_json(const device::DeviceInfo& info) {
  return {{"id", info.id},
          {"kind", info.kind},
          {"name", info.name},
          {"compute", info.makes_compute},
          {"attention", info.makes_attention},
          {"aggregation", info.makes_aggregation},
          {"memory_bytes", info.memory_bytes},
          {"memory_bandwidth_bytes_per_s", info.memory_bandwidth_bytes_per_s},
          {"peak_ops_per_s",
           {{"f32", info.peak_ops_per_s.f32},
            {"bf16", info.peak_ops_per_s.bf16},
            {"int8", info.peak_ops_per_s.int8}}},
          {"link_bandwidth_bytes_per_s", info.link_bandwidth_bytes_per_s},
          {"link_latency_us", info.link_latency_us}};
}

nlohmann::json processors_json(const ProcessorLayout& machine) {
  nlohmann::json result = {{"processors", machine.processors.size()},
                           {"cores", machine.num_cores},
                           {"nodes", machine.num_nodes},
                           {"last_level_cache_bytes", machine.cache_bytes},
                           {"quota", nullptr}};
  if (std::isfinite(machine.quota)) result["quota"] = machine.quota;
  return result;
}

// The processors that this process may use, not those of the machine.
void print_processors(const ProcessorLayout& machine) {
  std::uint64_t cache = 0;
  for (const std::uint64_t bytes : machine.cache_bytes) cache += bytes;
  fmt::print(
      "host: {} processors, {} cores, {} NUMA node(s), {} last-level cache(s), {:.0f} MiB{}\n",
      machine.processors.size(), machine.num_cores, machine.num_nodes, machine.num_caches,
      static_cast<double>(cache) / (1 << 20),
      std::isfinite(machine.quota) ? fmt::format(", quota {:.2f}", machine.quota) : "");
}

std::string rate(double bytes_per_s, const char* none) {
  return bytes_per_s > 0 ? fmt::format("{:.1f} GB/s", bytes_per_s / 1e9) : none;
}

// Empty if a card is listed, or if the build does not support cards.
std::string cards_hint(const std::vector<device::DeviceInfo>& all) {
  for (const device::DeviceInfo& info : all) {
    if (info.kind == "xrt") return {};
  }
  for (const device::Backend* backend : device::backends()) {
    if (backend->kind() == "xrt" && backend->available()) {
      return missing_cards_hint(card_environment());
    }
  }
  return {};
}

void print_table(const std::vector<device::DeviceInfo>& all) {
  fmt::print("{:<10} {:<9} {:<10} {:<12} {:>11} {:>12} {:>12}  {}\n", "id", "compute", "attention",
             "aggregation", "memory", "bandwidth", "link", "name");
  for (const device::DeviceInfo& info : all) {
    fmt::print("{:<10} {:<9} {:<10} {:<12} {:>7.1f} GiB {:>12} {:>12}  {}\n", info.id,
               info.makes_compute ? "yes" : "-", info.makes_attention ? "yes" : "-",
               info.makes_aggregation ? "yes" : "-",
               static_cast<double>(info.memory_bytes) / (1ull << 30),
               rate(info.memory_bandwidth_bytes_per_s, "unknown"),
               rate(info.link_bandwidth_bytes_per_s, "host memory"), info.name);
  }
  for (const device::Backend* backend : device::backends()) {
    if (!backend->available()) {
      fmt::print("{:<10} not available: {}\n", backend->kind(), backend->unavailable_reason());
    }
  }
  if (const std::string hint = cards_hint(all); !hint.empty()) {
    fmt::print("{:<10} no card: {}\n", "xrt", hint);
  }
  print_processors(this_machine());
}

void list_options(bool as_json) {
  const Backends all = device::backends();
  fmt::print("{}", as_json ? options_json(all).dump(2) + "\n" : options_text(all));
}

void run(bool as_json) {
  const device::DeviceOptions options;
  const std::vector<device::DeviceInfo> all = device::enumerate_devices(options);
  if (!as_json) {
    print_table(all);
    return;
  }
  nlohmann::json result = {{"devices", nlohmann::json::array()},
                           {"unavailable", nlohmann::json::object()},
                           {"hints", nlohmann::json::object()},
                           {"host", processors_json(this_machine())}};
  for (const device::DeviceInfo& info : all) result["devices"].push_back(device_json(info));
  for (const device::Backend* backend : device::backends()) {
    if (!backend->available()) {
      result["unavailable"][std::string(backend->kind())] = backend->unavailable_reason();
    }
  }
  if (const std::string hint = cards_hint(all); !hint.empty()) result["hints"]["xrt"] = hint;
  fmt::print("{}\n", result.dump(2));
}

void measure(RuntimeOptions options, bool as_json) {
  if (as_json && spdlog::get_level() == spdlog::level::info) spdlog::set_level(spdlog::level::warn);
  options.measures = true;
  const Runtime runtime(options, nullptr);
  const planner::CostTable& costs = runtime.costs();
  if (!as_json) return fmt::print("{}", costs_text(costs));
  nlohmann::json table = nlohmann::json::parse(planner::write_cost_table(costs));
  table["file"] = cost_file(costs.key);
  fmt::print("{}\n", table.dump(2));
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that can compute and attend");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "print JSON");
  auto options = std::make_shared<bool>(false);
  command->add_flag("--options", *options, "list the options of each kind of device");
  auto measures = std::make_shared<bool>(false);
  command->add_flag("--measure", *measures,
                    "measure what a model's parts cost on them, and keep that for later starts");
  auto runtime = std::make_shared<RuntimeOptions>();
  add_runtime_options(*command, *runtime);
  command->callback([=] {
    if (*measures) return measure(*runtime, *as_json);
    *options ? list_options(*as_json) : run(*as_json);
  });
}

}  // namespace tandem::apps
