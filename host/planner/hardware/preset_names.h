// SPDX-License-Identifier: Apache-2.0
//
// find_preset: the preset of a name. An unknown name is answered with the nearest one.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace tandem::planner {

// "no device is called 'h10': did you mean h100-nvl? Known: ..." The nearest by edit distance.
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
