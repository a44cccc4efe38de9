// SPDX-License-Identifier: Apache-2.0
//
// How far a result in f32 lies from its reference: the normalised mean squared error, one figure
// that does not depend on the size of the values.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

namespace tandem::reference {

// sum (got - want)^2 / sum want^2; infinity where the sizes differ or a value is NaN on one side.
template <typename Want>
double nmse(std::span<const float> got, std::span<const Want> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    error += difference * difference;
    power += static_cast<double>(want[i]) * static_cast<double>(want[i]);
  }
  const double ratio = power > 0.0 ? error / power : error;
  return ratio == ratio ? ratio : std::numeric_limits<double>::infinity();
}

}  // namespace tandem::reference
