// SPDX-License-Identifier: Apache-2.0
//
// The nearest name: least edits (Levenshtein), where letters missing at the end cost an eighth.
#include "planner/hardware/preset_names.h"

namespace tandem::planner {
namespace {

constexpr double kMissingAtEnd = 0.125;

double distance(std::string_view from, std::string_view to) {
  std::vector<double> row(to.size() + 1), next(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = static_cast<double>(j);
  double best = row.back();
  for (std::size_t i = 1; i <= from.size(); ++i) {
    next[0] = static_cast<double>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const double change = row[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      next[j] = std::min({change, row[j] + 1, next[j - 1] + 1});
    }
    std::swap(row, next);
  }
  best = row.back();
  for (std::size_t j = 0; j < to.size(); ++j) {
    best = std::min(best, row[j] + kMissingAtEnd * static_cast<double>(to.size() - j));
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
