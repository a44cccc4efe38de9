// SPDX-License-Identifier: Apache-2.0
//
// What was joined before is sorted already, so it is merged with what came since.
#include "trace/communication/traffic_cells.h"

#include <algorithm>

namespace tandem::trace {

void TrafficCells::add(const TrafficKey& key, const TrafficVolume& volume) {
  if (cells_.size() > num_joined_ && cells_.back().first == key) {
    cells_.back().second.bytes += volume.bytes;
    cells_.back().second.messages += volume.messages;
    return;
  }
  cells_.emplace_back(key, volume);
  if (cells_.size() < next_join_) return;
  next_join_ = std::max(kFirstJoin, 2 * sorted().size());
}

const std::vector<TrafficCells::Cell>& TrafficCells::sorted() const {
  if (num_joined_ == cells_.size()) return cells_;
  const auto by_key = [](const Cell& a, const Cell& b) { return a.first < b.first; };
  const auto begin = cells_.begin(), middle = begin + static_cast<std::ptrdiff_t>(num_joined_);
  if (!std::is_sorted(middle, cells_.end(), by_key)) std::sort(middle, cells_.end(), by_key);
  std::inplace_merge(begin, middle, cells_.end(), by_key);
  std::size_t last = 0;
  for (std::size_t at = 1; at < cells_.size(); ++at) {
    if (cells_[at].first == cells_[last].first) {
      cells_[last].second.bytes += cells_[at].second.bytes;
      cells_[last].second.messages += cells_[at].second.messages;
    } else {
      cells_[++last] = cells_[at];
    }
  }
  cells_.resize(last + 1);
  num_joined_ = cells_.size();
  return cells_;
}

}  // namespace tandem::trace
