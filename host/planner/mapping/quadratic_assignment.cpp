// SPDX-License-Identifier: Apache-2.0
//
// The sum of the definition.
#include "planner/mapping/quadratic_assignment.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/error.h"

namespace tandem::planner {

std::int64_t QuadraticAssignment::cost(const Permutation& places) const {
  std::int64_t sum = 0;
  for (int i = 0; i < num_tasks; ++i) {
    for (int j = 0; j < num_tasks; ++j) {
      sum += flow_of(i, j) *
             distance_of(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)]);
    }
  }
  return sum;
}

void QuadraticAssignment::check_range() const {
  constexpr double kMost = 0x1p51;
  double flows = 0, longest = 0;
  for (const std::int64_t value : flow) flows += std::abs(static_cast<double>(value));
  for (const std::int64_t value : distance) {
    longest = std::max(longest, std::abs(static_cast<double>(value)));
  }
  if (flows * longest >= kMost) {
    throw Error("mapping",
                "the sum of the flows times the longest distance passes 2^51: divide one of the "
                "matrices by a common factor");
  }
}

}  // namespace tandem::planner
