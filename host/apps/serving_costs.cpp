// SPDX-License-Identifier: Apache-2.0
//
// The file and its key.
#include "apps/serving_costs.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "apps/whole_file.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e6, kMilli = 1e3;

// FNV-1a: equal on every machine that shares the folder.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<planner::CostTable> kept_costs(const CostSource& source) {
  if (source.file.empty() || source.anew) return std::nullopt;
  const auto text = contents_of(source.file);
  if (!text) return std::nullopt;
  planner::CostTableRead read = planner::read_cost_table(*text, source.wanted);
  if (!read.table) {
    spdlog::info("the costs in '{}' are measured again: {}", source.file, read.refusal);
  }
  return std::move(read.table);
}

void keep(const CostSource& source, const planner::CostTable& table) {
  if (source.file.empty()) return;
  try {
    fs::create_directories(fs::path(source.file).parent_path());
    WholeFile file("costs", source.file);
    file.write(planner::write_cost_table(table));
    file.keep();
  } catch (const std::exception& error) {
    spdlog::warn("the measured costs are not kept for the next start: {}", error.what());
  }
}

}  // namespace

std::string cost_file(const planner::CostKey& key) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (cache != nullptr && fs::path(cache).is_absolute()) {
    folder = cache;
  } else if (home != nullptr && fs::path(home).is_absolute()) {
    folder = fs::path(home) / ".cache";
  } else {
    return {};
  }
  const std::uint64_t hash = hash_of(key.model + '\n' + key.options);
  return folder / "tandem" / fmt::format("costs-{:016x}.json", hash);
}

std::string driver_version(const std::string& kind) {
  if (kind == "cuda") return first_line_of("/proc/driver/nvidia/version");
  if (kind == "xrt") return first_line_of("/sys/module/xocl/version");
  utsname system{};
  return ::uname(&system) == 0 ? system.release : "";
}

planner::CostTable stored_costs(const CostSource& source) {
  if (auto kept = kept_costs(source)) return *std::move(kept);
  const auto begin = std::chrono::steady_clock::now();
  MeasuredCosts measured = source.measure();
  planner::CostTable& table = measured.table;
  table.key = source.wanted.key;
  for (planner::DeviceCost& device : table.devices) {
    const auto driver = source.wanted.drivers.find(device.id);
    if (driver != source.wanted.drivers.end()) device.driver = driver->second;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  spdlog::info("measured what the devices cost in {:.1f} s", spent.count());
  if (measured.is_whole) keep(source, table);
  return std::move(table);
}

std::string costs_text(const planner::CostTable& table) {
  std::string text = fmt::format("{}; {}\n", table.key.machine, table.key.model);
  for (const planner::DeviceCost& device : table.devices) {
    text += fmt::format("{} ({})\n", device.id, device.driver);
    for (const planner::CurvePoint& point : device.dense_by_rows.points()) {
      text += fmt::format("  dense layers, {:>5} rows {:>12.3f} ms\n", point.x, point.y * kMilli);
    }
    for (const planner::AttentionCost& cost : device.attention) {
      for (const planner::CurvePoint& point : cost.by_tokens.points()) {
        if (point.x == 0) continue;
        text += fmt::format("  attention,  {:>7} tokens {:>10.1f} us per layer\n", point.x,
                            point.y * kMicro);
      }
      text += fmt::format("  attention,  one more row {:>10.3f} us per layer\n",
                          cost.per_row_s * kMicro);
    }
    const double round_trip =
        device.launch_s + device.to_device.latency_s + device.from_device.latency_s;
    text += fmt::format("  launch and links {:>19.1f} us per layer\n", round_trip * kMicro);
    for (const auto& [name, link] :
         {std::pair("to", device.to_device), std::pair("from", device.from_device)}) {
      if (link.bytes_per_s <= 0) continue;
      text += fmt::format("  bytes {:<4} it {:>25.2f} GB/s\n", name, link.bytes_per_s * 1e-9);
    }
    text += fmt::format("  a page out or in {:>19.1f} us\n", device.page_move_s * kMicro);
    if (device.dense_by_rows.empty()) continue;
    text += fmt::format("  merge of a row {:>21.3f} us per layer\n", device.merge_row_s * kMicro);
    text += fmt::format("  sampling {:>27.1f} us, and {:.1f} us per row\n",
                        device.sampling_s * kMicro, device.sampling_row_s * kMicro);
  }
  return text;
}

}  // namespace tandem::apps
