// SPDX-License-Identifier: Apache-2.0
//
// Random rows for the tests of kernels on f32, the same for the same seed.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace tandem::gpu_kernels {

inline std::vector<float> random_floats(std::size_t count, unsigned seed, float spread = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace tandem::gpu_kernels
