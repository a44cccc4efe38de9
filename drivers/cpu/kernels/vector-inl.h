// SPDX-License-Identifier: Apache-2.0
//
// Vectors of f32 for the CPU kernels, once per instruction set: loads that convert from every
// stored type, exp, soft caps, and sums over lanes.
//
// Included in files that Highway compiles for each target (AVX-512, AVX2, NEON, scalar). kLanes is
// 16, 8, 4 or 1. It divides 16, so data padded to 16 values needs no remainder loop. Highway gives
// AVX-512 targets numbers up to HWY_AVX3, newer ones lower numbers. Numerics: exp() is within 2
// ulp, 0 below -104, NaN for NaN.
#if defined(TANDEM_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_VECTOR_INL_H_
#undef TANDEM_CPU_VECTOR_INL_H_
#else
#define TANDEM_CPU_VECTOR_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<FloatTag>;
inline constexpr FloatTag kF;
inline constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
static_assert(16 % kLanes == 0);

#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t kRegisters = 32;
#else
inline constexpr std::size_t kRegisters = 16;
#endif

HWY_INLINE Vec load(const float* from) { return hn::LoadU(kF, from); }
HWY_INLINE void store(Vec value, float* to) { hn::StoreU(value, kF, to); }
HWY_INLINE Vec broadcast(float value) { return hn::Set(kF, value); }

// Loads f16 values, stored as bits and aligned to 2 bytes.
HWY_INLINE Vec load_f16(const std::uint16_t* from) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(kF, f16_to_f32(*from));
#else
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  const hn::RebindToUnsigned<decltype(half)> bits;
  return hn::PromoteTo(kF, hn::BitCast(half, hn::LoadU(bits, from)));
#endif
}

HWY_INLINE void store_f16(Vec value, std::uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = f32_to_f16(hn::GetLane(value));
#else
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  const hn::RebindToUnsigned<decltype(half)> bits;
  hn::StoreU(hn::BitCast(bits, hn::DemoteTo(half, value)), bits, to);
#endif
}

// One f16 in every lane.
HWY_INLINE Vec broadcast_f16(std::uint16_t value) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(kF, f16_to_f32(value));
#else
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  const hn::RebindToUnsigned<decltype(half)> bits;
  return hn::PromoteTo(kF, hn::BitCast(half, hn::Set(bits, value)));
#endif
}

HWY_INLINE Vec load_bf16(const std::uint16_t* from) {
  const hn::Rebind<std::uint16_t, FloatTag> narrow;
  const hn::RebindToUnsigned<FloatTag> wide;
  return hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, from))));
}

HWY_INLINE Vec load_i8(const std::int8_t* from) {
  const hn::Rebind<std::int8_t, FloatTag> narrow;
  const hn::RebindToSigned<FloatTag> wide;
  return hn::ConvertTo(kF, hn::PromoteTo(wide, hn::LoadU(narrow, from)));
}

// Rounds to the nearest, ties to even; the values must be in -127..127.
HWY_INLINE void store_i8(Vec value, std::int8_t* to) {
  const hn::Rebind<std::int8_t, FloatTag> narrow;
  hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(value)), narrow, to);
}

HWY_INLINE float sum_of_lanes(Vec value) { return hn::GetLane(hn::SumOfLanes(kF, value)); }
HWY_INLINE float max_of_lanes(Vec value) { return hn::GetLane(hn::MaxOfLanes(kF, value)); }

// max|x|, or NaN where a value is not finite.
HWY_INLINE float finite_peak(const float* from, std::size_t count) {
  Vec top = hn::Zero(kF), poison = hn::Zero(kF);  // poison: 0, or NaN once a value is not finite
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec x = load(from + i);
    top = hn::Max(top, hn::Abs(x));
    poison = hn::MulAdd(x, hn::Zero(kF), poison);
  }
  float peak = max_of_lanes(top), rest = sum_of_lanes(poison);
  for (; i < count; ++i) {
    peak = std::fmax(peak, std::fabs(from[i]));
    rest += from[i] * 0.0f;
  }
  return rest == 0.0f ? peak : std::numeric_limits<float>::quiet_NaN();
}

// An x above 88 is replaced by 88. e^x = 2^n 2^f, n the integer nearest to x log2(e).
HWY_INLINE Vec exp(Vec x) {
#if HWY_TARGET <= HWY_AVX3
  // AVX-512 scales by 2^n in one instruction, which also keeps NaN and underflows to 0.
  const Vec y = hn::Mul(hn::Min(broadcast(88.0f), x), broadcast(1.44269504f));
  const Vec n = hn::Round(y);
  Vec f = hn::NegMulAdd(n, broadcast(0.693145752f), hn::Min(broadcast(88.0f), x));
  f = hn::NegMulAdd(n, broadcast(1.42860677e-6f), f);  // ln 2 in two parts
  Vec sum = broadcast(1.0f / 720.0f);
  for (const float c : {1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f}) {
    sum = hn::MulAdd(sum, f, broadcast(c));
  }
  return Vec{_mm512_scalef_ps(sum.raw, n.raw)};
#else
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(kF, hn::Min(x, broadcast(88.0f))));
#endif
}

// cap * tanh(x / cap), to a relative error of some ulp however small x is: tanh by way of e^2x - 1.
HWY_INLINE Vec cap_softly(Vec x, Vec cap) {
  const Vec capped = hn::Mul(cap, hn::Tanh(kF, hn::Div(x, cap)));
  return hn::IfThenElse(hn::IsNaN(x), x, capped);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
