// SPDX-License-Identifier: Apache-2.0
//
// The choice of attention devices.
#include "apps/attention_choice.h"

#include <algorithm>
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

std::vector<std::string> listed_ids(const std::string& list) {
  std::vector<std::string> ids;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.empty()) throw Error("attention", "'" + list + "' has an empty device id");
    if (std::find(ids.begin(), ids.end(), word) != ids.end()) {
      throw Error("attention", "device '" + word + "' is named twice");
    }
    ids.push_back(word);
  }
  if (ids.empty()) {
    throw Error("attention", "--attention needs auto or device ids such as xrt:0,xrt:1");
  }
  return ids;
}

std::vector<std::string> automatic_ids(const AttentionNeeds& needs,
                                       std::span<const device::DeviceInfo> all) {
  std::vector<std::string> ids;
  for (const device::DeviceInfo& info : all) {
    if (info.makes_attention && info.kind == "xrt" && meets(info, needs)) ids.push_back(info.id);
  }
  if (ids.empty()) ids.emplace_back("cpu");
  return ids;
}

}  // namespace tandem::apps
