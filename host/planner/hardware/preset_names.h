// SPDX-License-Identifier: Apache-2.0
//
// find_preset: returns the preset of a name. Throws an error with the most similar name if it is
// unknown.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace tandem::planner {

// "no device is called 'h10': did you mean h100-nvl? Known: ..." Similarity is the edit distance.
std::string unknown_preset(std::string_view what, std::string_view name,
                           std::span<const std::string> known);

template <typename Preset>
const Preset& find_preset(const std::string& module, std::string_view what,
                          std::span<const Preset> presets, std::string_view name) {
  const auto found = std::ranges::find(presets, name, &Preset::name);
  if (found != presets.end()) return *found;
  std::vector<std::string> known;
  for (const Preset& preset : presets) known.push_back(preset.name);
  throw Error(module, unknown_preset(what, name, known));
}

}  // namespace tandem::planner
