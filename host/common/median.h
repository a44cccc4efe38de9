// SPDX-License-Identifier: Apache-2.0
//
// median(): returns the middle value of several values, such as repeated measurements of a time.
//
// For an even number of values it is the upper one of the two in the middle; for none it is 0.
// Threads: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem {

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace tandem
