// SPDX-License-Identifier: Apache-2.0
//
// LevelWork: the work of nodes that could start within a span of time, by a Fenwick tree.
//
// Times are those of the top levels that it is made with. Threads: one. Cost: O(log nodes).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tandem::planner {

class LevelWork {
 public:
  // `times`: ascending, each once. Borrows them.
  explicit LevelWork(const std::vector<std::int64_t>& times)
      : times_(&times), sums_(times.size() + 1) {}

  void add(std::int64_t time, std::int64_t work) {
    for (std::size_t i = rank(time) + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += work;
  }
  // Of begin <= time <= end.
  std::int64_t between(std::int64_t begin, std::int64_t end) const {
    const auto last = std::ranges::upper_bound(*times_, end) - times_->begin();
    return std::max<std::int64_t>(0, before(static_cast<std::size_t>(last)) - before(rank(begin)));
  }

 private:
  std::size_t rank(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(*times_, time) - times_->begin());
  }
  std::int64_t before(std::size_t count) const {
    std::int64_t sum = 0;
    for (std::size_t i = count; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

  const std::vector<std::int64_t>* times_;
  std::vector<std::int64_t> sums_;
};

}  // namespace tandem::planner
