// SPDX-License-Identifier: Apache-2.0
//
// The most similar name has the fewest typing errors; missing letters at the end count an eighth.
#include "planner/hardware/preset_names.h"

#include "common/suggestion.h"

namespace tandem::planner {
namespace {

constexpr double kMissingAtEnd = 0.125;

double distance(std::string_view from, std::string_view to) {
  auto best = static_cast<double>(num_typos(from, to));
  for (std::size_t length = 0; length < to.size(); ++length) {
    const auto typos = static_cast<double>(num_typos(from, to.substr(0, length)));
    best = std::min(best, typos + kMissingAtEnd * static_cast<double>(to.size() - length));
  }
  return best;
}

}  // namespace

std::string unknown_preset(std::string_view what, std::string_view name,
                           std::span<const std::string> known) {
  const auto nearest =
      std::ranges::min_element(known, {}, [&](const std::string& k) { return distance(name, k); });
  std::string text = "no " + std::string(what) + " is called '" + std::string(name) + "'";
  if (nearest != known.end()) text += ": did you mean " + *nearest + "?";
  text += " Known:";
  for (const std::string& k : known) text += " " + k;
  return text;
}

}  // namespace tandem::planner
