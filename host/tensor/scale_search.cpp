// SPDX-License-Identifier: Apache-2.0
//
// The grid of scales, and the alternating optimisation.
#include "tensor/scale_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tensor/quantized_blocks.h"

namespace tandem {
namespace {

constexpr std::size_t kLanes = 4;
constexpr int kTurns = 3;

// Four lanes of the compiler's own vectors, which every target has in some form.
using Lanes = float __attribute__((vector_size(4 * sizeof(float))));

Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

Lanes all(float value) { return Lanes{value, value, value, value}; }

float sum_of(Lanes v) { return (v[0] + v[2]) + (v[1] + v[3]); }

// round(x * inverse) clipped to [low, high]. Adding 1.5 * 2^23 leaves no fraction bits, because
// clipped values are below 2^22.
template <typename V>
V level(V x, V inverse, V low, V high) {
  V q = x * inverse;
  q = q > low ? q : low;  // what is no number, of sums that overflowed, becomes `low`
  q = q < high ? q : high;
  return (q + 12582912.0f) - 12582912.0f;
}

// Sums over a block of values and their integers.
struct Sums {
  double q = 0, qq = 0, xq = 0;
};

Sums sums_of(std::span<const float> x, float inverse, float min, float low, float high) {
  Lanes q_sum = {}, qq_sum = {}, xq_sum = {};
  for (std::size_t i = 0; i < x.size(); i += kLanes) {
    const Lanes value = load(x.data() + i);
    const Lanes q = level(value - min, all(inverse), all(low), all(high));
    q_sum += q;
    qq_sum += q * q;
    xq_sum += value * q;
  }
  return {sum_of(q_sum), sum_of(qq_sum), sum_of(xq_sum)};
}

float signed_peak(std::span<const float> x) {
  float peak = 0.0f;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(peak)) peak = value;
  }
  return peak;
}

// What a scale explains of the squared values, given the integers it leads to: larger is better.
struct Gain {
  double gain = -1.0;
  float scale = 0.0f;
};

// `sums(inverse)`: the integers that 1 / inverse leads to.
template <typename SumsOf>
void improve(Gain& best, float inverse, const SumsOf& sums) {
  double last = -1.0;
  for (int turn = 0; turn < kTurns && inverse != 0.0f; ++turn) {
    const Sums s = sums(inverse);
    if (s.qq <= 0.0) return;
    const double gain = s.xq * s.xq / s.qq;
    if (gain <= last) return;
    last = gain;
    const auto scale = static_cast<float>(s.xq / s.qq);
    if (gain > best.gain) best = {gain, scale};
    inverse = inverse_of(scale);
  }
}

struct MinFit {
  double error = HUGE_VAL;
  ScaleMin fit;
};

// The best scale and min for given integers, and their squared error without the term sum(x^2).
MinFit solve(const Sums& s, double n, double x_sum, bool negative_min) {
  const double determinant = n * s.qq - s.q * s.q;
  double scale = 0.0, min = x_sum / n;
  if (determinant > 1e-9 * n * s.qq) {
    scale = (n * s.xq - x_sum * s.q) / determinant;
    min = (x_sum * s.qq - s.q * s.xq) / determinant;
  }
  if (scale < 0.0) scale = 0.0, min = x_sum / n;
  if (negative_min && min > 0.0) {
    min = 0.0;
    scale = s.qq > 0.0 ? std::max(0.0, s.xq / s.qq) : 0.0;
  }
  const double error =
      scale * (scale * s.qq - 2.0 * s.xq) + min * (n * min - 2.0 * x_sum) + 2.0 * scale * min * s.q;
  return {error, {static_cast<float>(scale), static_cast<float>(min)}};
}

ScaleMin search_min(std::span<const float> x, int high, bool negative_min) {
  // Parts of the range, in its middle: values outside are clipped.
  constexpr float kStretches[] = {1.0f, 0.93f, 0.86f};
  const auto [lowest, highest] = std::minmax_element(x.begin(), x.end());
  const float low = negative_min ? std::min(*lowest, 0.0f) : *lowest;
  const float range = *highest - low;
  double x_sum = 0.0;
  for (const float value : x) x_sum += value;
  const auto n = static_cast<double>(x.size());
  if (inverse_of(range) == 0.0f || !std::isfinite(range)) {
    const auto mean = static_cast<float>(x_sum / n);
    return {0.0f, negative_min ? std::min(mean, 0.0f) : mean};
  }
  MinFit best;
  for (const float stretch : kStretches) {
    const float margin = 0.5f * (1.0f - stretch) * range;
    ScaleMin fit{range * stretch / static_cast<float>(high), low + margin};
    if (negative_min && fit.min > 0.0f) fit.min = 0.0f;
    double last = HUGE_VAL;
    for (int turn = 0; turn < kTurns; ++turn) {
      const Sums s = sums_of(x, inverse_of(fit.scale), fit.min, 0.0f, static_cast<float>(high));
      const MinFit next = solve(s, n, x_sum, negative_min);
      if (next.error >= last) break;
      last = next.error;
      if (next.error < best.error) best = next;
      fit = next.fit;
    }
  }
  return best.fit;
}

// The boundaries between values are multiples of 1/2, so a table of halves finds the nearest.
constexpr int kHalves = 2 * 256;
constexpr std::array<std::uint8_t, kHalves> nearest_table() {
  std::array<std::uint8_t, kHalves> table{};
  for (int half = 0; half < kHalves; ++half) {
    const int doubled = 2 * (half - 256) + 1;  // 4 * the middle of the interval
    int index = 0;
    for (int next = 1; next < 16; ++next) {
      if (doubled > 2 * (kIQ4NLValues[next - 1] + kIQ4NLValues[next])) index = next;
    }
    table[static_cast<std::size_t>(half)] = static_cast<std::uint8_t>(index);
  }
  return table;
}
constexpr std::array<std::uint8_t, kHalves> kNearest = nearest_table();

}  // namespace

float search_scale(std::span<const float> x, int low, int high) {
  const float peak = signed_peak(x);
  if (inverse_of(peak) == 0.0f) return 0.0f;
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  const auto sums = [&](float inverse) { return sums_of(x, inverse, 0.0f, from, to); };
  Gain best;
  // The peak maps to the end of either side, or beyond it, where it clips.
  for (const float stretch : {1.0f, 1.1f, 1.2f}) {
    improve(best, from * stretch / peak, sums);
    improve(best, -from * stretch / peak, sums);
  }
  return best.scale;
}

ScaleMin search_scale_min(std::span<const float> x, int high) { return search_min(x, high, false); }

ScaleMin search_scale_negative_min(std::span<const float> x, int high) {
  return search_min(x, high, true);
}

int nearest_iq4_nl(float x) {
  const float inside = std::clamp(x, -128.0f, 127.5f);
  return kNearest[static_cast<std::size_t>(2.0f * inside + 256.0f)];
}

float search_iq4_nl_scale(std::span<const float> x) {
  const float peak = signed_peak(x);
  if (inverse_of(peak) == 0.0f) return 0.0f;
  const auto sums = [&](float inverse) {
    Sums s;
    for (const float value : x) {
      const double v = kIQ4NLValues[nearest_iq4_nl(value * inverse)];
      s.qq += v * v;
      s.xq += v * static_cast<double>(value);
    }
    return s;
  };
  Gain best;
  for (const float target : {104.0f, 118.0f, 133.0f}) {
    improve(best, target / peak, sums);
    improve(best, -target / peak, sums);
  }
  return best.scale;
}

float squared_error(std::span<const float> x, float scale, float min, int low, int high) {
  const Lanes inverse = all(inverse_of(scale));
  const Lanes from = all(static_cast<float>(low)), to = all(static_cast<float>(high));
  Lanes sum = {};
  for (std::size_t i = 0; i < x.size(); i += kLanes) {
    const Lanes value = load(x.data() + i) - min;
    const Lanes error = value - scale * level(value, inverse, from, to);
    sum += error * error;
  }
  return sum_of(sum);
}

int nearest_level(float x, float inverse, int low, int high) {
  return static_cast<int>(level(x, inverse, static_cast<float>(low), static_cast<float>(high)));
}

}  // namespace tandem
