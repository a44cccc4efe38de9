// SPDX-License-Identifier: Apache-2.0
//
// machine: [N x (] group [)]; group: device {+ device}; device: [N*] name [:GB] [@link | /link]
#include "simulation/serving/machine_spec.h"

#include <algorithm>

#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"

namespace tandem::simulation {
namespace {

constexpr int kMostDevices = 10'000;
constexpr double kGigabyte = 1e9, kMostGigabytes = 1e6;

[[noreturn]] void refuse_word(std::string_view word, const std::string& what) {
  throw Error("devices", "'" + std::string(word) + "': " + what);
}

struct DeviceWord {
  int count = 1;
  planner::DeviceSheet sheet;
  std::string link;   // after @
  std::string peers;  // after /
};

// Removes "N*" or "Nx" from the front.
int take_count(std::string_view& word, char sign) {
  const std::size_t at = word.find(sign);
  if (at == std::string_view::npos) return 1;
  const auto count = number_of<int>(word.substr(0, at));
  if (!count) return 1;
  if (*count < 1 || *count > kMostDevices) {
    refuse_word(word, "a number of devices is 1 to " + std::to_string(kMostDevices));
  }
  word.remove_prefix(at + 1);
  return *count;
}

// "a100:40"; the number of "cpu:200" is a bandwidth.
planner::DeviceSheet sheet_of(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || word.substr(0, colon) == "cpu") {
    return planner::device_preset(word);
  }
  const auto gigabytes = number_of<double>(word.substr(colon + 1));
  if (!gigabytes || *gigabytes <= 0 || *gigabytes > kMostGigabytes) {
    refuse_word(word, "write the memory in GB after ':', above 0 and at most 1e6");
  }
  planner::DeviceSheet sheet = planner::device_preset(word.substr(0, colon));
  sheet.memory_bytes = *gigabytes * kGigabyte;
  return sheet;
}

DeviceWord device_of(std::string_view word) {
  DeviceWord device;
  device.count = take_count(word, '*');
  const auto [before_link, link] = cut_at(word, '@');
  const auto [name, peers] = cut_at(before_link, '/');
  device.sheet = sheet_of(name);
  device.link = link, device.peers = peers;
  return device;
}

planner::ComputeGroup compute_of(std::string_view word) {
  const DeviceWord device = device_of(word);
  if (device.sheet.device_class == planner::DeviceClass::kCard) {
    refuse_word(word, "the first device computes dense layers, which a card cannot");
  }
  if (!device.link.empty())
    refuse_word(word, "write the link of the first device to its peers after /");
  const std::string& peers = device.peers.empty() ? device.sheet.link : device.peers;
  return {device.sheet, device.count, planner::link_preset(peers)};
}

UnitSpec unit_of(std::string_view word) {
  const DeviceWord device = device_of(word);
  if (!device.peers.empty()) refuse_word(word, "write the link of an attention unit after @");
  const std::string& link = device.link.empty() ? device.sheet.link : device.link;
  return {device.sheet, planner::link_preset(link), device.count};
}

}  // namespace

std::int64_t MachineSpec::num_devices() const {
  std::int64_t sum = compute.count;
  for (const UnitSpec& unit : units) sum += unit.count;
  return num_servers * sum;
}

MachineSpec parse_machine(std::string_view text) {
  MachineSpec machine;
  machine.text = text;
  if (text.empty()) refuse_word(text, "no device is named; for example l40s+4*u55c");
  if (text.ends_with(')')) {
    const std::size_t open = text.find("x(");
    std::string_view front = text;
    if (open == std::string_view::npos)
      refuse_word(text, "several servers are written 8x(l40s+4*u55c)");
    machine.num_servers = take_count(front, 'x');
    if (!front.starts_with('(')) refuse_word(text, "several servers are written 8x(l40s+4*u55c)");
    text = front.substr(1, front.size() - 2);
  }
  const std::vector<std::string_view> words = parts_of(text, '+');
  if (std::ranges::find(words, std::string_view()) != words.end()) {
    refuse_word(text, "a device is missing before or after '+'");
  }
  machine.compute = compute_of(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) machine.units.push_back(unit_of(words[i]));
  if (machine.num_devices() > kMostDevices) {
    refuse_word(text, std::to_string(machine.num_devices()) + " devices are too many: at most " +
                          std::to_string(kMostDevices));
  }
  return machine;
}

}  // namespace tandem::simulation
