// SPDX-License-Identifier: Apache-2.0
//
// The choice of compute devices.
#include "apps/compute_choice.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "common/error.h"

namespace tandem::apps {

std::vector<std::string> compute_ids(const std::string& list) {
  std::vector<std::string> ids;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.empty()) throw Error("compute", "'" + list + "' has an empty device id");
    ids.push_back(word);
  }
  if (ids.empty() || list.ends_with(',')) {
    throw Error("compute", "--compute needs device ids such as cpu or cuda:0,cuda:1");
  }
  return ids;
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

void check_group(const std::vector<std::string>& ids, const std::string& split,
                 const model::ModelConfig& config) {
  const auto count = static_cast<int>(ids.size());
  const std::string devices = std::to_string(count) + " devices";
  if (split == "layers") {
    if (config.num_layers >= count) return;
    throw Error("compute", "the model's " + std::to_string(config.num_layers) +
                               " layers cannot be shared by " + devices + "; name fewer");
  }
  for (const auto& [number, what] :
       {std::pair(config.q_heads, "query heads"), std::pair(config.kv_heads, "key and value heads"),
        std::pair(config.experts.count > 0 ? config.experts.ffn_width : config.ffn_width,
                  "values of the feed-forward")}) {
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
