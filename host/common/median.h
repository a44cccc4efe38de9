// SPDX-License-Identifier: Apache-2.0
//
// median(): the middle one of some values, as of times that are measured several times.
//
// Of an even number of values, the upper of the two in the middle; of none, 0. Threads: pure.
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
