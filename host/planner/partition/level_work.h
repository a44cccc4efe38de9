// SPDX-License-Identifier: Apache-2.0
//
// LevelWork: sums, per device, the work of nodes that could start within a span of time. Uses
// Fenwick trees.
//
// A time is given as its rank among the times of the top levels. The trees of all devices are
// stored side by side, so one walk reads them all. Threads: one. Cost: O(devices log times).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::planner {

class LevelWork {
 public:
  LevelWork(std::size_t num_times, int num_devices)
      : num_devices_(static_cast<std::size_t>(num_devices)),
        sums_((num_times + 1) * num_devices_) {}

  void add(std::size_t rank, int device, std::int64_t work) {
    const std::size_t column = static_cast<std::size_t>(device);
    const std::size_t end = sums_.size() / num_devices_;
    for (std::size_t i = rank + 1; i < end; i += i & (~i + 1)) {
      sums_[i * num_devices_ + column] += work;
    }
  }
  // Computes the work of each device at the times with ranks [first, last). sums: [num_devices]
  void between(std::size_t first, std::size_t last, std::span<std::int64_t> sums) const {
    std::ranges::fill(sums, 0);
    if (last <= first) return;
    accumulate(last, 1, sums);
    accumulate(first, -1, sums);
  }

 private:
  void accumulate(std::size_t count, std::int64_t sign, std::span<std::int64_t> sums) const {
    for (std::size_t i = count; i > 0; i -= i & (~i + 1)) {
      const std::int64_t* row = sums_.data() + i * num_devices_;
      for (std::size_t device = 0; device < num_devices_; ++device) {
        sums[device] += sign * row[device];
      }
    }
  }

  std::size_t num_devices_;
  std::vector<std::int64_t> sums_;  // [num_times + 1, num_devices]
};

}  // namespace tandem::planner
