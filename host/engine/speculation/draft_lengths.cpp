// SPDX-License-Identifier: Apache-2.0
//
// A queue of the next row of each candidate, the most valuable first.
#include "engine/speculation/draft_lengths.h"

#include <queue>
#include <utility>

namespace tandem::engine {

std::vector<int> draft_lengths(std::span<const DraftCandidate> candidates, double share, int room) {
  std::vector<int> lengths(candidates.size());
  std::priority_queue<std::pair<double, std::size_t>> values;  // of each candidate's next row
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].most > 0) values.emplace(candidates[i].acceptance, i);
  }
  double tokens = static_cast<double>(candidates.size()), time = 1;
  for (; room > 0 && !values.empty(); --room) {
    const auto [value, i] = values.top();
    if (value * time <= share * tokens) break;  // the next ones are worth no more
    values.pop();
    tokens += value;
    time += share;
    if (++lengths[i] < candidates[i].most) values.emplace(value * candidates[i].acceptance, i);
  }
  return lengths;
}

}  // namespace tandem::engine
