// SPDX-License-Identifier: Apache-2.0
//
// The choice of compute devices.
#include "apps/compute_choice.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "apps/command_words.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

// The numbers that every device gets an equal part of.
std::array<std::pair<int, const char*>, 3> divided_numbers(const model::ModelConfig& config) {
  const int ffn = config.experts.count > 0 ? config.experts.ffn_width : config.ffn_width;
  return {{{config.q_heads, "query heads"},
           {config.kv_heads, "key and value heads"},
           {ffn, "values of the feed-forward"}}};
}

}  // namespace

std::vector<ComputeDevice> compute_devices(const std::string& list) {
  std::vector<ComputeDevice> devices;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t limit = word.find('=');
    ComputeDevice& device = devices.emplace_back();
    device.id = word.substr(0, limit);
    if (device.id.empty()) throw Error("compute", "'" + list + "' has an empty device id");
    if (limit == std::string::npos) continue;
    std::string size = word.substr(limit + 1);
    const std::string refused = size_value()(size);
    device.memory_bytes = refused.empty() ? std::stoull(size) : 0;
    if (!refused.empty()) throw Error("compute", "--compute " + word + ": " + refused);
    if (device.memory_bytes == 0) {
      throw Error("compute", "--compute " + word + ": a device without memory holds nothing");
    }
  }
  if (devices.empty() || list.ends_with(',')) {
    throw Error("compute", "--compute needs device ids such as cpu or cuda:0,cuda:1");
  }
  return devices;
}

std::vector<std::string> ids_of(const std::vector<ComputeDevice>& devices) {
  std::vector<std::string> ids;
  for (const ComputeDevice& device : devices) ids.push_back(device.id);
  return ids;
}

std::vector<std::string> compute_ids(const std::string& list) {
  return ids_of(compute_devices(list));
}

std::uint64_t most_planned_bytes(const std::vector<ComputeDevice>& devices, const std::string& id,
                                 std::uint64_t model_bytes) {
  for (const ComputeDevice& device : devices) {
    if (device::full_id(device.id) != device::full_id(id) || device.memory_bytes == 0) continue;
    return std::min(device.memory_bytes, model_bytes);
  }
  return model_bytes;
}

void check_limits(const std::string& list, const std::string& split) {
  const std::vector<ComputeDevice> devices = compute_devices(list);
  if (split == "auto" && devices.size() > 1) return;
  for (const ComputeDevice& device : devices) {
    if (device.memory_bytes == 0) continue;
    throw Error("compute", "the memory of " + device.id +
                               " is limited, which needs several devices and --split auto");
  }
}

std::string group_id(const std::vector<std::string>& ids) {
  std::string joined;
  for (const std::string& id : ids) joined += (joined.empty() ? "" : "+") + id;
  return joined;
}

bool names_group(const std::vector<std::string>& ids, const std::string& id) {
  return device::full_id(id) == device::full_id(group_id(ids));
}

bool names_member(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::any_of(ids, [&](const std::string& member) {
    return device::full_id(member) == device::full_id(id);
  });
}

bool is_divisible(int num_devices, const model::ModelConfig& config) {
  return std::ranges::all_of(divided_numbers(config),
                             [&](const auto& each) { return each.first % num_devices == 0; });
}

void check_group(const std::vector<std::string>& ids, const std::string& split,
                 const model::ModelConfig& config) {
  const auto count = static_cast<int>(ids.size());
  const std::string devices = std::to_string(count) + " devices";
  if (split == "layers") {
    if (config.num_layers >= count) return;
    throw Error("compute", "the model's " + std::to_string(config.num_layers) +
                               " layers cannot be shared by " + devices + "; name fewer");
  }
  for (const auto& [number, what] : divided_numbers(config)) {
    if (number % count == 0) continue;
    throw Error("compute", "--split tensor: the model's " + std::to_string(number) + " " + what +
                               " cannot be divided among " + devices +
                               "; use another number of them, or --split layers");
  }
}

std::unique_ptr<device::Device> open_compute_group(const std::vector<std::string>& ids,
                                                   const std::string& split,
                                                   const model::ModelConfig& config,
                                                   const device::DeviceOptions& options) {
  check_group(ids, split, config);
  device::GroupOptions group;
  group.split = split == "tensor" ? device::GroupSplit::kTensor : device::GroupSplit::kLayers;
  group.num_layers = config.num_layers;
  return device::open_group(ids, group, options);
}

}  // namespace tandem::apps
