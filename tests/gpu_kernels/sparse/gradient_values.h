// SPDX-License-Identifier: Apache-2.0
//
// Gradients for the tests of selection: what training gives, and what breaks a selection.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tandem::gpu_kernels {

enum class Values { kLaplace, kTies, kZeros, kSubnormal, kFewMagnitudes, kNonFinite };

inline constexpr Values kAllValues[] = {Values::kLaplace,       Values::kTies,
                                        Values::kZeros,         Values::kSubnormal,
                                        Values::kFewMagnitudes, Values::kNonFinite};
inline constexpr std::size_t kGradientSizes[] = {1, 31, 32, 33, 1000, 100'003};

inline float gradient_value(Values kind, std::size_t at, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const float sign = bits % 2 == 0 ? 1.0f : -1.0f;
  const double uniform = static_cast<double>((bits >> 11) + 1) / 9007199254740993.0;
  switch (kind) {
    case Values::kTies:
      return sign * 0.7f;
    case Values::kZeros:
      return sign * 0.0f;
    case Values::kSubnormal:  // and zeros, and the smallest normal value
      return sign * static_cast<float>(bits >> 20 & 7u) * (at % 3 == 0 ? 0x1p-126f : 0x1p-149f);
    case Values::kFewMagnitudes:
      return sign * static_cast<float>(bits >> 20 & 3u);
    case Values::kNonFinite:
      if (at % 7 == 3) return sign * std::numeric_limits<float>::infinity();
      if (at % 11 == 5) return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
      [[fallthrough]];
    case Values::kLaplace:
      break;
  }
  return static_cast<float>(sign * -0.01 * std::log(uniform));
}

inline std::vector<float> gradient_values(Values kind, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (std::size_t at = 0; at < count; ++at) values[at] = gradient_value(kind, at, random);
  return values;
}

}  // namespace tandem::gpu_kernels
