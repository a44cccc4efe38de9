// SPDX-License-Identifier: Apache-2.0
//
// The candidates, their simulation, and the order.
#include "simulation/suggest/suggest.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/error.h"

namespace tandem::simulation {
namespace {

constexpr int kMostGpus = 16, kMostServers = 64;
constexpr int kCards[] = {1, 2, 4, 8};

MachineSpec machine_of(const planner::DeviceSheet& gpu, int count) {
  MachineSpec machine;
  machine.compute = {gpu, count, planner::link_preset(gpu.link)};
  return machine;
}

bool holds_weights(const MachineSpec& machine, const ServingOptions& options) {
  const planner::ComputeGroup& group = machine.compute;
  return group.count * group.sheet.memory_bytes * options.memory_share >
         options.model.parameters() * options.precision.weight_bytes;
}

std::string text_of(const MachineSpec& machine) {
  const auto number = [](int count) {
    return count > 1 ? std::to_string(count) + "*" : std::string();
  };
  std::string text = number(machine.compute.count) + machine.compute.sheet.name;
  for (const UnitSpec& unit : machine.units) {
    text += '+';
    text += number(unit.count) + unit.sheet.name;
  }
  if (machine.num_servers == 1) return text;
  return std::to_string(machine.num_servers) + "x(" + text + ")";
}

std::vector<MachineSpec> candidates(const std::vector<planner::DeviceSheet>& devices,
                                    const ServingOptions& options) {
  std::vector<MachineSpec> machines;
  for (const planner::DeviceSheet& gpu : devices) {
    if (gpu.device_class != planner::DeviceClass::kGpu) continue;
    int least = 1;
    while (least <= kMostGpus && !holds_weights(machine_of(gpu, least), options)) least *= 2;
    for (int count = least; count <= std::min(2 * least, kMostGpus); count *= 2) {
      machines.push_back(machine_of(gpu, count));
      const MachineSpec alone = machines.back();
      for (const planner::DeviceSheet& unit : devices) {
        if (unit.device_class == planner::DeviceClass::kGpu) continue;
        for (const int cards : kCards) {
          if (unit.device_class == planner::DeviceClass::kCpu && cards > 1) break;
          machines.push_back(alone);
          machines.back().units.push_back({unit, planner::link_preset(unit.link), cards});
        }
      }
    }
  }
  return machines;
}

Suggestion simulated(MachineSpec machine, const ServingOptions& options, Load load,
                     const LatencyTarget& target) {
  machine.text = text_of(machine);
  const ServingResult result = simulate_serving(machine, options, std::move(load));
  Suggestion suggestion;
  suggestion.devices = machine.text;
  for (const DeviceReport& device : result.devices) {
    suggestion.price_per_hour += device.price_per_hour;
  }
  suggestion.price_per_million_tokens = result.price_per_million_tokens();
  suggestion.tokens_per_s = result.tokens_per_s();
  suggestion.joules_per_token = result.joules_per_token();
  suggestion.first_token_s = result.record.first_token.quantile(0.99);
  suggestion.between_tokens_s = result.record.between_tokens.quantile(0.99);
  suggestion.meets_target = suggestion.first_token_s <= target.first_token_s &&
                            suggestion.between_tokens_s <= target.between_tokens_s;
  return suggestion;
}

// Doubles the servers until the target is met. If one server cannot serve a request at all, more
// cannot either.
std::optional<Suggestion> best_number(MachineSpec machine, const ServingOptions& options,
                                      const std::function<Load()>& make_load,
                                      const LatencyTarget& target) {
  std::optional<Suggestion> last;
  for (int servers = 1; servers <= kMostServers; servers *= 2) {
    machine.num_servers = servers;
    try {
      Suggestion next = simulated(machine, options, make_load(), target);
      const bool gains = !last || next.first_token_s < 0.99 * last->first_token_s ||
                         next.between_tokens_s < 0.99 * last->between_tokens_s;
      if (!gains) return last;
      last = std::move(next);
    } catch (const Error&) {
      return last;  // its memory is too small for a request
    }
    if (last->meets_target) return last;
  }
  return last;
}

}  // namespace

std::vector<Suggestion> suggest(const std::vector<planner::DeviceSheet>& devices,
                                const ServingOptions& options,
                                const std::function<Load()>& make_load, const LatencyTarget& target,
                                const std::function<void(const std::string&)>& progress) {
  const bool is_batch = make_load().in_flight() > 0;
  std::vector<Suggestion> suggestions;
  for (const MachineSpec& machine : candidates(devices, options)) {
    if (progress) progress(text_of(machine));
    if (auto best = best_number(machine, options, make_load, target)) {
      suggestions.push_back(std::move(*best));
    }
  }
  if (suggestions.empty()) {
    throw Error("simulate",
                "no device here computes " + options.model.name +
                    " and holds it with a request: name larger GPUs, or --weights q8_0");
  }
  std::ranges::stable_sort(suggestions, {}, [&](const Suggestion& s) {
    return std::tuple(!s.meets_target, is_batch ? s.price_per_million_tokens : s.price_per_hour,
                      s.joules_per_token);
  });
  return suggestions;
}

}  // namespace tandem::simulation
