// SPDX-License-Identifier: Apache-2.0
//
// sum_of_squares: the sum of squares of f32 values, in f64.
//
// It computes eight partial sums, so that the processor can use vectors. The order of the additions
// depends only on the number of values: the same bits everywhere. Pure; threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tandem::training {

inline double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const double value = values[i];
    sums[i - whole] += value * value;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace tandem::training
