// SPDX-License-Identifier: Apache-2.0
//
// The row loops of rows.h for AVX-512, AVX2, NEON and scalar, chosen at run time.
//
// Every loop processes whole vectors, then single values with the same formula, which may round
// differently. So a call is one row, except where rows.h says otherwise.
#include "cpu/kernels/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/rows/rows.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

void rms_norm(const float* x, const float* weight, float epsilon, std::size_t width, float* out) {
  Vec sums[2] = {hn::Zero(kF), hn::Zero(kF)};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
    const Vec a = load(x + i), b = load(x + i + kLanes);
    sums[0] = hn::MulAdd(a, a, sums[0]);
    sums[1] = hn::MulAdd(b, b, sums[1]);
  }
  float sum = sum_of_lanes(hn::Add(sums[0], sums[1]));
  for (; i < width; ++i) sum += x[i] * x[i];
  const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + epsilon);
  const Vec f = broadcast(factor);
  for (i = 0; i + kLanes <= width; i += kLanes) {
    store(hn::Mul(hn::Mul(load(x + i), f), load(weight + i)), out + i);
  }
  for (; i < width; ++i) out[i] = x[i] * factor * weight[i];
}

namespace {

// Pairs (i, i + pairs): two vectors at a time.
HWY_INLINE void rotate_halves(const float* cosine, const float* sine, std::size_t pairs, float* x) {
  std::size_t i = 0;
  for (; i + kLanes <= pairs; i += kLanes) {
    const Vec a = load(x + i), b = load(x + i + pairs);
    const Vec c = load(cosine + i), s = load(sine + i);
    store(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), x + i);
    store(hn::Add(hn::Mul(a, s), hn::Mul(b, c)), x + i + pairs);
  }
  for (; i < pairs; ++i) {
    const float a = x[i], b = x[i + pairs];
    x[i] = a * cosine[i] - b * sine[i];
    x[i + pairs] = a * sine[i] + b * cosine[i];
  }
}

HWY_INLINE void rotate_neighbours(const float* cosine, const float* sine, std::size_t pairs,
                                  float* x) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}

}  // namespace

void rope(const RopeRow& shape, const float* cos_sin, float* x) {
  const float* sine = cos_sin + shape.pairs;
  for (std::size_t head = 0; head < shape.heads; ++head, x += shape.head_dim) {
    if (shape.interleaved) {
      rotate_neighbours(cos_sin, sine, shape.pairs, x);
    } else {
      rotate_halves(cos_sin, sine, shape.pairs, x);
    }
  }
}

void gate_up(const float* gate, const float* up, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec g = load(gate + i);
    const Vec divisor = hn::Add(broadcast(1.0f), exp(hn::Neg(g)));
    store(hn::Mul(hn::Div(g, divisor), load(up + i)), out + i);
  }
  for (; i < count; ++i) out[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

// 0.5 (1 + tanh u) = 1 / (1 + exp(-2u)), so GELU in its tanh form is g / (1 + exp(-2u)).
void gelu_up(const float* gate, const float* up, std::size_t count, float* out) {
  constexpr float kTwice = 2.0f * 0.7978845608f, kCubic = 0.044715f;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec g = load(gate + i);
    const Vec cubic = hn::MulAdd(hn::Mul(g, g), broadcast(kCubic), broadcast(1.0f));
    const Vec u = hn::Mul(hn::Mul(g, cubic), broadcast(-kTwice));
    const Vec divisor = hn::Add(broadcast(1.0f), exp(u));
    store(hn::Mul(hn::Div(g, divisor), load(up + i)), out + i);
  }
  for (; i < count; ++i) {
    const float u = gate[i] * (1.0f + kCubic * gate[i] * gate[i]) * kTwice;
    out[i] = gate[i] / (1.0f + std::exp(-u)) * up[i];
  }
}

// The last values also pass through a whole vector, so that the same formula serves every position.
void cap_values(float cap, std::size_t count, float* x) {
  const Vec top = broadcast(cap);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(cap_softly(load(x + i), top), x + i);
  if (i == count) return;
  HWY_ALIGN float rest[kLanes] = {};
  std::copy(x + i, x + count, rest);
  store(cap_softly(load(rest), top), rest);
  std::copy(rest, rest + (count - i), x + i);
}

void multiply_add(const float* x, float factor, std::size_t count, float* acc) {
  const Vec f = broadcast(factor);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store(hn::MulAdd(load(x + i), f, load(acc + i)), acc + i);
  }
  for (; i < count; ++i) acc[i] += x[i] * factor;
}

void narrow_f16(const float* from, std::size_t count, std::uint16_t* to) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_f16(load(from + i), to + i);
  for (; i < count; ++i) to[i] = f32_to_f16(from[i]);
}

void widen_f16(const std::uint16_t* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(load_f16(from + i), to + i);
  for (; i < count; ++i) to[i] = f16_to_f32(from[i]);
}

float quantize_i8(const float* from, std::size_t count, std::int8_t* to) {
  const float peak = finite_peak(from, count);
  if (std::isnan(peak)) {
    std::fill_n(to, count, std::int8_t{0});
    return peak;
  }
  const float scale = peak / 127.0f;
  const float inverse = scale > std::numeric_limits<float>::min() ? 1.0f / scale : 0.0f;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store_i8(hn::Mul(load(from + i), broadcast(inverse)), to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<std::int8_t>(std::nearbyint(from[i] * inverse));
  return scale;
}

void widen_i8(const std::int8_t* from, float scale, std::size_t count, float* to) {
  const Vec f = broadcast(scale);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(hn::Mul(load_i8(from + i), f), to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(rms_norm);
HWY_EXPORT(rope);
HWY_EXPORT(gate_up);
HWY_EXPORT(gelu_up);
HWY_EXPORT(cap_values);
HWY_EXPORT(multiply_add);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(quantize_i8);
HWY_EXPORT(widen_i8);

void rms_norm_row(const float* x, const float* weight, float epsilon, std::size_t width,
                  float* out) {
  HWY_DYNAMIC_DISPATCH(rms_norm)(x, weight, epsilon, width, out);
}
void rope_row(const RopeRow& shape, const float* cos_sin, float* x) {
  HWY_DYNAMIC_DISPATCH(rope)(shape, cos_sin, x);
}
void swiglu(const float* gate, const float* up, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(gate_up)(gate, up, count, out);
}
void geglu(const float* gate, const float* up, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(gelu_up)(gate, up, count, out);
}
void softcap(float cap, std::size_t count, float* x) {
  HWY_DYNAMIC_DISPATCH(cap_values)(cap, count, x);
}
void add_scaled(const float* x, float factor, std::size_t count, float* acc) {
  HWY_DYNAMIC_DISPATCH(multiply_add)(x, factor, count, acc);
}
void to_f16(const float* from, std::size_t count, std::uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(from, count, to);
}
void from_f16(const std::uint16_t* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(from, count, to);
}
float to_i8(const float* from, std::size_t count, std::int8_t* to) {
  return HWY_DYNAMIC_DISPATCH(quantize_i8)(from, count, to);
}
void from_i8(const std::int8_t* from, float scale, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_i8)(from, scale, count, to);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
