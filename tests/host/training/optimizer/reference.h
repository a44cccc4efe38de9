// SPDX-License-Identifier: Apache-2.0
//
// The rules as scalar loops: one operation per statement or parenthesis, as README.md lists them.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "training/optimizer/rules.h"

namespace tandem::training::test {

using Values = std::vector<float>;

inline void reference(const SgdFactors& f, std::span<float> w, std::span<const float> gradient,
                      std::span<float> momentum) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    float g = f.scale * gradient[i];
    if (f.decay != 0) g = g + f.decay * w[i];
    if (f.momentum != 0) {
      momentum[i] = f.momentum * momentum[i] + g;
      g = f.nesterov ? g + f.momentum * momentum[i] : momentum[i];
    }
    w[i] = w[i] - f.rate * g;
  }
}

inline void reference(const AdamFactors& f, std::span<float> w, std::span<const float> gradient,
                      std::span<float> m, std::span<float> v) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    float g = f.scale * gradient[i];
    if (f.l2) g = g + f.decay * w[i];
    const float kept = f.l2 ? w[i] : f.decay * w[i];
    m[i] = f.beta1 * m[i] + f.rest1 * g;
    v[i] = f.beta2 * v[i] + (f.rest2 * g) * g;
    w[i] = kept - (f.rate * m[i]) / (std::sqrt(v[i]) * f.root_factor + f.epsilon);
  }
}

inline void reference(const RowAdamFactors& f, std::span<float> w, std::span<const float> gradient,
                      std::span<float> m, std::span<float> v) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float g = f.scale * gradient[i];
    m[i] = f.beta1 * m[i] + f.rest1 * g;
    v[i] = f.beta2 * v[i] + f.rest2 * (g * g);
    const float step = (m[i] * f.correct1) / (std::sqrt(v[i] * f.correct2) + f.epsilon);
    w[i] = w[i] - f.rate * (step + f.decay * w[i]);
  }
}

// One row.
inline void reference(const AdagradFactors& f, std::span<float> w, std::span<const float> gradient,
                      float& accumulator) {
  std::array<float, 16> sums = {};
  for (std::size_t i = 0; i < w.size(); ++i) {
    float g = f.scale * gradient[i];
    if (f.mode == AdagradFactors::kL2) g = g + f.decay * w[i];
    sums[i % 16] = sums[i % 16] + g * g;
  }
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
  }
  accumulator = accumulator + sums[0] / static_cast<float>(w.size());
  const float step = f.rate / (std::sqrt(accumulator) + f.epsilon);
  for (std::size_t i = 0; i < w.size(); ++i) {
    float kept = w[i];
    if (f.mode == AdagradFactors::kL2) kept = (1.0f - step * f.decay) * w[i];
    if (f.mode == AdagradFactors::kDecoupled) kept = f.decay * w[i];
    w[i] = kept - step * (f.scale * gradient[i]);
  }
}

// Of any sign and size that the rules meet, subnormal values among them.
inline Values random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Values values(count);
  for (float& value : values) {
    const auto kind = random() % 32;
    value = normal(random) * 0.1f;
    if (kind == 0) value = 0;
    if (kind == 1) value = -0.0f;
    if (kind == 2) value *= 1e-38f;
    if (kind == 3) value *= 1e6f;
  }
  return values;
}

// Equal bits; all NaNs are equal.
inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) {
    bits.push_back(std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

}  // namespace tandem::training::test
