// SPDX-License-Identifier: Apache-2.0
//
// The optimal string alignment distance (Levenshtein's, and a swap is one edit), row by row.
#include "common/suggestion.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem {
namespace {

constexpr std::size_t kMaxTypos = 2;

char plain(char c) { return c == '-' ? '_' : c; }

}  // namespace

std::size_t num_typos(std::string_view left, std::string_view right) {
  const auto same = [&](std::size_t line, std::size_t column) {
    return plain(left[line]) == plain(right[column]);
  };
  std::vector<std::size_t> before, above(right.size() + 1), row(right.size() + 1);
  for (std::size_t column = 0; column < row.size(); ++column) row[column] = column;
  for (std::size_t line = 0; line < left.size(); ++line) {
    before = std::exchange(above, row);
    row[0] = line + 1;
    for (std::size_t column = 0; column < right.size(); ++column) {
      const std::size_t changed = above[column] + (same(line, column) ? 0 : 1);
      row[column + 1] = std::min({changed, row[column] + 1, above[column + 1] + 1});
      const bool swapped =
          line > 0 && column > 0 && same(line, column - 1) && same(line - 1, column);
      if (swapped) row[column + 1] = std::min(row[column + 1], before[column - 1] + 1);
    }
  }
  return row.back();
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known,
                       std::string_view prefix) {
  std::string_view best;
  std::size_t least = std::min(kMaxTypos, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t typos = num_typos(name, candidate);
    if (typos >= least) continue;
    best = candidate;
    least = typos;
  }
  if (best.empty()) return {};
  return " (did you mean '" + std::string(prefix) + std::string(best) + "'?)";
}

}  // namespace tandem
