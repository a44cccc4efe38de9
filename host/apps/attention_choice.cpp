// SPDX-License-Identifier: Apache-2.0
//
// The choice of attention devices.
#include "apps/attention_choice.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "common/error.h"

namespace tandem::apps {

AttentionNeeds attention_needs(const model::ModelConfig& config, int context_length) {
  AttentionNeeds needs;
  needs.model = config.architecture + (config.name.empty() ? "" : " '" + config.name + "'");
  needs.windows = std::ranges::any_of(
      config.windows, [&](int window) { return window > 0 && window < context_length; });
  needs.softcap = config.attention_softcap > 0;
  return needs;
}

bool meets(const device::DeviceInfo& info, const AttentionNeeds& needs) {
  return (!needs.windows || info.attends_windows) && (!needs.softcap || info.attends_softcap);
}

void require_needs(const device::DeviceInfo& info, const AttentionNeeds& needs,
                   std::span<const device::DeviceInfo> all) {
  if (meets(info, needs)) return;
  std::string others;
  for (const device::DeviceInfo& other : all) {
    if (!other.makes_attention || !meets(other, needs)) continue;
    others += (others.empty() ? "" : ", ") + other.id;
  }
  const bool lacks_windows = needs.windows && !info.attends_windows;
  throw Error("attention", info.id + " has no " +
                               (lacks_windows ? "sliding windows" : "soft caps on scores") +
                               ", which the model " + needs.model + " needs; choose " +
                               (others.empty() ? "another device" : others));
}

namespace {

double share_of(const std::string& id, const std::string& word) {
  double share = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), share);
  const std::string what = "the share of " + id + ", '" + word + "', ";
  if (error != std::errc() || end != word.data() + word.size()) {
    throw Error("attention", what + "is not a number such as 0.5");
  }
  if (!(share > 0 && share <= 1)) {  // so that a NaN fails
    throw Error("attention",
                what + "must be above 0 and at most 1; leave out a device without work");
  }
  return share;
}

void check_shares(const std::vector<ListedDevice>& devices) {
  const auto has_share = [](const ListedDevice& device) { return device.share > 0; };
  if (std::ranges::none_of(devices, has_share)) return;
  double sum = 0;
  for (const ListedDevice& device : devices) {
    if (!has_share(device)) {
      throw Error("attention", device.id + " has no share; give every device one, or none");
    }
    sum += device.share;
  }
  constexpr double kRounding = 1e-3;  // thirds as 0.333
  if (std::abs(sum - 1) <= kRounding * static_cast<double>(devices.size())) return;
  std::ostringstream text;
  text << "the shares sum to " << sum << ", not to 1";
  throw Error("attention", text.str());
}

}  // namespace

std::vector<ListedDevice> listed_devices(const std::string& list) {
  std::vector<ListedDevice> devices;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t sign = word.find('=');
    ListedDevice device{word.substr(0, sign), 0};
    if (device.id.empty()) throw Error("attention", "'" + list + "' has an empty device id");
    if (sign != std::string::npos) device.share = share_of(device.id, word.substr(sign + 1));
    const auto is_same = [&](const ListedDevice& other) {
      return device::full_id(other.id) == device::full_id(device.id);
    };
    if (std::ranges::any_of(devices, is_same)) {
      throw Error("attention", "device '" + device.id + "' is named twice");
    }
    devices.push_back(device);
  }
  if (devices.empty() || list.ends_with(',')) {
    throw Error("attention", "--attention needs auto or device ids such as xrt:0,xrt:1");
  }
  check_shares(devices);
  return devices;
}

std::vector<ListedDevice> automatic_devices(const AttentionNeeds& needs,
                                            const device::DeviceInfo& compute,
                                            std::span<const device::DeviceInfo> all) {
  const bool attends = compute.makes_attention && meets(compute, needs);
  std::vector<ListedDevice> devices = {{attends ? compute.id : "cpu", 0}};
  for (const device::DeviceInfo& info : all) {
    if (info.makes_attention && info.kind == "xrt" && meets(info, needs)) {
      devices.push_back({info.id, 0});
    }
  }
  return devices;
}

}  // namespace tandem::apps
