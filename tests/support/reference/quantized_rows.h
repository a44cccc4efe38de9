// SPDX-License-Identifier: Apache-2.0
//
// Activations as products with quantised weights take them, in plain loops, from the statement in
// drivers/cpu/kernels/quantized_products/quantized_rows.h: the oracle multiplies what these return
// in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tandem::reference {

// scale * q of every value; x: whole blocks of 32.
inline std::vector<float> quantized_rows(std::span<const float> x) {
  std::vector<float> taken(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += 32) {
    const auto block = x.subspan(begin, 32);
    float peak = 0.0f;
    bool finite = true;
    for (const float value : block) {
      finite = finite && std::isfinite(value);
      peak = std::max(peak, std::fabs(value));
    }
    const float scale = peak / 127.0f, inverse = 127.0f / peak;
    for (std::size_t i = 0; i < 32; ++i) {
      float& to = taken[begin + i];
      if (!finite) {
        to = std::numeric_limits<float>::quiet_NaN();
      } else {
        to = peak < 0x1p-100f ? 0.0f : scale * std::nearbyint(block[i] * inverse);
      }
    }
  }
  return taken;
}

}  // namespace tandem::reference
