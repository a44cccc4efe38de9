// SPDX-License-Identifier: Apache-2.0
//
// Renders engine::EngineStatus per device, as JSON and as a table.
#include "apps/ran_where.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

namespace tandem::apps {
namespace {

std::string human_bytes(std::uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

constexpr double kMilliseconds = 1e3;

nlohmann::json speed_of(const std::map<std::string, double>& speeds, const std::string& id) {
  const auto found = speeds.find(id);
  if (found == speeds.end() || found->second <= 0) return nullptr;
  return found->second;
}

}  // namespace

nlohmann::json plan_json(const engine::PlanStatus& plan) {
  if (plan.mode.empty()) return nullptr;
  nlohmann::json parts = nlohmann::json::array();
  for (const engine::PlanPart& part : plan.parts) {
    nlohmann::json entry = {{"part", part.name},
                            {"device", nullptr},
                            {"predicted_ms", part.predicted_s * kMilliseconds},
                            {"measured_ms", nullptr}};
    if (!part.device.empty()) entry["device"] = part.device;
    if (part.measured_s) entry["measured_ms"] = *part.measured_s * kMilliseconds;
    parts.push_back(std::move(entry));
  }
  nlohmann::json result = {{"mode", plan.mode},
                           {"sub_batches", plan.num_sub_batches},
                           {"early_queries", plan.way.early_queries},
                           {"rings", plan.way.rings},
                           {"rows", plan.rows},
                           {"predicted_ms", plan.predicted_s * kMilliseconds},
                           {"measured_ms", plan.measured_s * kMilliseconds},
                           {"parts", std::move(parts)},
                           {"shares", plan.shares},
                           {"target_itl_ms", nullptr},
                           {"target_missed", plan.target_missed}};
  if (plan.target_itl_s > 0) result["target_itl_ms"] = plan.target_itl_s * kMilliseconds;
  return result;
}

nlohmann::json sequence_json(const engine::SequenceStatus& sequence) {
  nlohmann::json pages = nlohmann::json::array();
  for (const engine::PageRun& run : sequence.pages) {
    pages.push_back({run.unit, run.first, run.count});
  }
  nlohmann::json result = {{"id", sequence.id},
                           {"state", sequence.running ? "running" : "waiting"},
                           {"prompt_tokens", sequence.prompt_tokens},
                           {"cached_tokens", sequence.cached_tokens},
                           {"computed_tokens", sequence.computed_tokens},
                           {"generated_tokens", sequence.generated_tokens},
                           {"queued_seconds", sequence.queued_s},
                           {"first_token_seconds", nullptr},
                           {"pages", std::move(pages)},
                           {"pages_left_out", sequence.pages_left_out}};
  if (sequence.first_token_s) result["first_token_seconds"] = *sequence.first_token_s;
  return result;
}

nlohmann::json ran_where_json(const engine::EngineStatus& status, const model::ModelConfig& config,
                              const MemorySpeeds& speeds) {
  nlohmann::json devices = nlohmann::json::array();
  devices.push_back({{"device", status.compute_id},
                     {"role", "compute"},
                     {"layers", config.num_layers},
                     {"launches", status.compute.ops},
                     {"weight_bytes_read", status.compute.weight_bytes_read},
                     {"memory_bandwidth_bytes_per_s", speed_of(speeds.compute, status.compute_id)},
                     {"seconds", status.compute.busy_seconds}});
  for (const engine::UnitStatus& unit : status.units) {
    devices.push_back({{"device", unit.id},
                       {"role", "attention"},
                       {"alive", unit.alive},
                       {"losses", unit.losses},
                       {"layers", unit.stats.launches > 0 ? config.num_layers : 0},
                       {"launches", unit.stats.launches},
                       {"bytes_to_device", unit.stats.bytes_to_unit},
                       {"bytes_from_device", unit.stats.bytes_from_unit},
                       {"kv_bytes_read", unit.stats.kv_bytes_read},
                       {"memory_bandwidth_bytes_per_s", speed_of(speeds.attention, unit.id)},
                       {"pages_used", unit.pages_used},
                       {"pages_cached", unit.pages_cached},
                       {"pages_total", unit.pages_total},
                       {"seconds", unit.stats.busy_seconds}});
  }
  return devices;
}

std::string ran_where_table(const engine::EngineStatus& status, const model::ModelConfig& config) {
  std::string table =
      fmt::format("{:<12} {:<10} {:>6} {:>9} {:>11} {:>11} {:>11} {:>9}\n", "device", "role",
                  "layers", "launches", "sent", "received", "read there", "time");
  table +=
      fmt::format("{:<12} {:<10} {:>6} {:>9} {:>11} {:>11} {:>11} {:>7.3f} s\n", status.compute_id,
                  "compute", config.num_layers, status.compute.ops, "-", "-",
                  human_bytes(status.compute.weight_bytes_read), status.compute.busy_seconds);
  for (const engine::UnitStatus& unit : status.units) {
    table +=
        fmt::format("{:<12} {:<10} {:>6} {:>9} {:>11} {:>11} {:>11} {:>7.3f} s\n", unit.id,
                    unit.alive ? "attention" : "lost",
                    unit.stats.launches > 0 ? config.num_layers : 0, unit.stats.launches,
                    human_bytes(unit.stats.bytes_to_unit), human_bytes(unit.stats.bytes_from_unit),
                    human_bytes(unit.stats.kv_bytes_read), unit.stats.busy_seconds);
  }
  return table;
}

}  // namespace tandem::apps
