// SPDX-License-Identifier: Apache-2.0
//
// QuadraticAssignment: tasks that exchange data, places with distances, and the cost of a mapping.
//
// cost(p) = sum over tasks i, j of flow[i][j] * distance[p[i]][p[j]], as in QAPLIB. Every task has
// a place of its own. If there are fewer tasks than places, tasks without flow are added. Costs are
// whole numbers below 2^51, so that sums of doubles are exact. Threads: immutable values. Errors:
// Error if the numbers are too large.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::planner {

// [num_tasks] The place of every task.
using Permutation = std::vector<int>;

constexpr int kMostTasks = 2048;

struct QuadraticAssignment {
  int num_tasks = 0;
  std::vector<std::int64_t> flow;      // [num_tasks, num_tasks]
  std::vector<std::int64_t> distance;  // [num_tasks, num_tasks]

  std::int64_t flow_of(int task, int other) const { return flow[index(task, other)]; }
  std::int64_t distance_of(int place, int other) const { return distance[index(place, other)]; }
  std::int64_t cost(const Permutation& places) const;

  // Throws Error if the sum of all flows times the longest distance exceeds 2^51.
  void check_range() const;

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(num_tasks) +
           static_cast<std::size_t>(column);
  }
};

}  // namespace tandem::planner
