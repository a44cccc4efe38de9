// SPDX-License-Identifier: Apache-2.0
//
// Tables and JSON of the studies.
#include "apps/planner/simulate/studies.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "apps/planner/simulate/study_drawings.h"
#include "common/error.h"
#include "common/text_parts.h"
#include "simulation/reproduce/reproduce.h"
#include "simulation/suggest/gain_map.h"
#include "simulation/suggest/suggest.h"

namespace tandem::apps {
namespace {

using nlohmann::json;
using simulation::Suggestion;

constexpr std::size_t kListed = 20;
constexpr double kTargetItlMs = 100;

json row_json(const simulation::ReproducedRow& row) {
  return {{"what", row.what},
          {"published", row.published},
          {"simulated", row.simulated},
          {"error", row.error()},
          {"assumptions", row.assumptions}};
}

json row_json(const simulation::DesignRow& row) {
  json object = {{"what", row.what}, {"tokens_per_s", row.tokens_per_s}, {"of_all", row.of_all}};
  if (!row.impossible.empty()) object["impossible"] = row.impossible;
  return object;
}

json suggestion_json(const Suggestion& s) {
  return {{"devices", s.devices},
          {"meets_target", s.meets_target},
          {"price_per_hour", s.price_per_hour},
          {"price_per_million_tokens", s.price_per_million_tokens},
          {"tokens_per_s", s.tokens_per_s},
          {"joules_per_token", s.joules_per_token},
          {"ttft_ms", {{"p99", 1e3 * s.first_token_s}}},
          {"itl_ms", {{"p99", 1e3 * s.between_tokens_s}}}};
}

// "l40s,u55c,cpu:200"; all presets if none is named.
std::vector<planner::DeviceSheet> sheets_of(const SimulateOptions& options) {
  std::vector<planner::DeviceSheet> sheets;
  if (options.devices.empty()) {
    sheets.assign(planner::device_presets().begin(), planner::device_presets().end());
  } else {
    for (const std::string_view name : parts_of(options.devices, ',')) {
      sheets.push_back(planner::device_preset(name));
    }
  }
  for (planner::DeviceSheet& sheet : sheets) set_price(options, sheet);
  return sheets;
}

void print_suggestions(const std::vector<Suggestion>& suggestions) {
  fmt::print("{:<30} {:>9} {:>11} {:>11} {:>9} {:>12} {:>12}\n", "devices", "USD/h", "USD/Mtoken",
             "tokens/s", "J/token", "ttft p99 ms", "itl p99 ms");
  for (std::size_t i = 0; i < std::min(kListed, suggestions.size()); ++i) {
    const Suggestion& s = suggestions[i];
    fmt::print("{:<30} {:>9.2f} {:>11.3f} {:>11.1f} {:>9.3f} {:>12.1f} {:>12.1f}{}\n", s.devices,
               s.price_per_hour, s.price_per_million_tokens, s.tokens_per_s, s.joules_per_token,
               1e3 * s.first_token_s, 1e3 * s.between_tokens_s,
               s.meets_target ? "" : "  misses the target");
  }
  fmt::print("prices are assumptions: set yours by --price DEVICE=USD\n");
}

const char* kv_name(DType type) { return type == DType::kI8 ? "i8" : "f16"; }

json map_json(const simulation::GainMap& map) {
  json cells = json::array();
  for (const simulation::MapCell& cell : map.cells) {
    cells.push_back({{"batch", cell.batch},
                     {"context", cell.context},
                     {"head_group", cell.head_group},
                     {"kv_dtype", kv_name(cell.kv_dtype)},
                     {"tokens_per_s", cell.tokens_per_s},
                     {"gain", cell.gain},
                     {"pays", cell.pays}});
  }
  return {{"price_ratio", map.price_ratio}, {"cells", cells}};
}

std::string gain_of(const simulation::MapCell& cell) {
  if (cell.gain > 0) return fmt::format("{:.2f}", cell.gain);
  return cell.tokens_per_s > 0 ? "only so" : "-";
}

// A field per KV type and group: batch downwards, context to the right.
void print_map(const simulation::GainMap& map) {
  fmt::print(
      "gain of the units over the compute device alone; * where it exceeds the ratio of the "
      "prices, {:.2f};\n\"only so\" where the device alone holds no sequence; - where nothing "
      "fits\n",
      map.price_ratio);
  const simulation::MapCell* last = nullptr;
  for (const simulation::MapCell& cell : map.cells) {
    if (last == nullptr || last->kv_dtype != cell.kv_dtype || last->head_group != cell.head_group) {
      fmt::print("\n\n{} KV, {} query heads per KV head\n{:>14}", kv_name(cell.kv_dtype),
                 cell.head_group, "batch, context");
      for (const simulation::MapCell& other : map.cells) {
        if (other.batch != cell.batch) break;
        fmt::print("{:>10}", other.context);
      }
      last = nullptr;
    }
    if (last == nullptr || last->batch != cell.batch) fmt::print("\n{:>14}", cell.batch);
    fmt::print("{:>8}{:>2}", gain_of(cell), cell.pays ? "*" : "");
    last = &cell;
  }
  fmt::print("\n");
}

// Rows that follow each other with the same assumptions share them.
void print_assumptions(const std::vector<simulation::ReproducedRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fmt::print("{}{}\n", i == 0 || rows[i].assumptions != rows[i - 1].assumptions ? "\n" : "",
               rows[i].what);
    if (i + 1 < rows.size() && rows[i + 1].assumptions == rows[i].assumptions) continue;
    for (const std::string& assumption : rows[i].assumptions) fmt::print("- {}\n", assumption);
  }
}

void print_load_assumed(const SimulateOptions& options) {
  const std::string assumed = load_assumed(options);
  if (!assumed.empty()) fmt::print("assumed of the load: {}\n", assumed);
}

}  // namespace

void run_reproduce(const SimulateOptions& options) {
  const simulation::Reproduction result = simulation::reproduce(options.reproduce);
  if (options.json) {
    json rows = json::array();
    for (const simulation::ReproducedRow& row : result.rows) rows.push_back(row_json(row));
    const json object = {{"system", result.system}, {"source", result.source}, {"rows", rows}};
    fmt::print("{}\n", object.dump(2));
    return;
  }
  fmt::print("{}\n{:>10} {:>10} {:>8}\n", result.source, "published", "simulated", "error");
  for (const simulation::ReproducedRow& row : result.rows) {
    fmt::print("{:>10.3f} {:>10.3f} {:>+7.1f}%  {}\n", row.published, row.simulated,
               100 * row.error(), row.what);
  }
  fmt::print("\nassumed:\n");
  print_assumptions(result.rows);
}

void run_suggest(const SimulateOptions& options) {
  require_option(options.model, "--model");
  if (options.load.empty()) require_option(options.trace, "--load or --trace");
  const double target_itl_ms = options.target_itl_ms > 0 ? options.target_itl_ms : kTargetItlMs;
  const bool shows = isatty(STDERR_FILENO) != 0;
  const std::vector<Suggestion> suggestions = simulation::suggest(
      sheets_of(options), serving_options(options), [&] { return load_of(options); },
      {1e-3 * options.target_ttft_ms, 1e-3 * target_itl_ms},
      [&](const std::string& name) {
        if (shows) fmt::print(stderr, "\r\033[K{}", name);
      });
  if (shows) fmt::print(stderr, "\r\033[K");
  if (!options.json) {
    print_load_assumed(options);
    return print_suggestions(suggestions);
  }
  json rows = json::array();
  for (const Suggestion& s : suggestions) rows.push_back(suggestion_json(s));
  fmt::print("{}\n", json{{"load_assumed", load_assumed(options)}, {"suggestions", rows}}.dump(2));
}

void run_map(const SimulateOptions& options) {
  require_option(options.model, "--model");
  require_option(options.devices, "--devices");
  const simulation::GainMap map =
      simulation::gain_map(machine_of(options, options.devices), serving_options(options));
  if (!options.svg.empty()) {
    write_file(options.svg,
               map_svg("gain of units: " + options.model + " on " + options.devices, map));
  }
  if (options.json) {
    fmt::print("{}\n", map_json(map).dump(2));
  } else {
    print_map(map);
  }
}

void run_design(const SimulateOptions& options) {
  require_option(options.model, "--model");
  require_option(options.devices, "--devices");
  if (options.load.empty()) require_option(options.trace, "--load or --trace");
  const auto make_load = [&] { return load_of(options); };
  const std::vector<simulation::DesignRow> rows =
      simulation::design_gains(machine_of(options, options.devices), serving_options(options),
                               make_load, simulation::longest_request(make_load()));
  if (!options.svg.empty()) {
    write_file(options.svg, design_svg(options.model + " on " + options.devices, rows));
  }
  if (options.json) {
    json list = json::array();
    for (const simulation::DesignRow& row : rows) list.push_back(row_json(row));
    fmt::print("{}\n", json{{"load_assumed", load_assumed(options)}, {"rows", list}}.dump(2));
    return;
  }
  print_load_assumed(options);
  fmt::print("{:>10} {:>7}\n", "tokens/s", "of all");
  for (const simulation::DesignRow& row : rows) {
    if (row.impossible.empty()) {
      fmt::print("{:>10.1f} {:>7.3f}  {}\n", row.tokens_per_s, row.of_all, row.what);
    } else {
      fmt::print("{:>10} {:>7}  {}: impossible, {}\n", "-", "-", row.what, row.impossible);
    }
  }
}

}  // namespace tandem::apps
