// SPDX-License-Identifier: Apache-2.0
//
// narrow_kv() and widen_kv(): bfloat16 and float8 by integer arithmetic on the bits of f32, for
// AVX-512, AVX2, NEON and scalar, chosen at run time; f16 and i8 as rows.h does them.
#include "cpu/kernels/attention/kv_rows.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/rows/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention/kv_rows.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/attention/kv_types-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

using BitsTag = hn::RebindToUnsigned<FloatTag>;
using Bits = hn::Vec<BitsTag>;
constexpr BitsTag kU;
constexpr float kMaxF8 = 448.0f;

// The upper bits of f32 from bit kDrop on, rounded to nearest even.
template <int kDrop>
HWY_INLINE Bits round_bits(Bits bits) {
  const Bits odd = hn::And(hn::ShiftRight<kDrop>(bits), hn::Set(kU, 1));
  const Bits half = hn::Set(kU, (1u << (kDrop - 1)) - 1);
  return hn::ShiftRight<kDrop>(hn::Add(bits, hn::Add(half, odd)));
}

template <typename To>
HWY_INLINE void store_bits(Bits bits, To* to) {
  const hn::Rebind<To, FloatTag> narrow;
  const hn::RebindToSigned<FloatTag> integer;
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(integer, bits)), narrow, to);
}

}  // namespace

// Values whose magnitude is within 448 take the path of f32_to_f8().
float narrow_f8(const float* from, std::size_t count, std::uint8_t* to) {
  const float peak = finite_peak(from, count);
  if (std::isnan(peak)) {
    std::fill_n(to, count, std::uint8_t{0});
    return peak;
  }
  int exponent = -126;
  if (peak > 0) {
    const float mantissa = std::frexp(peak, &exponent);  // in [0.5, 1)
    exponent = std::clamp(exponent - (mantissa > 0.875f ? 8 : 9), -126, kMaxF8Exponent);
  }
  const float inverse = std::ldexp(1.0f, -exponent);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec x = hn::Mul(load(from + i), broadcast(inverse));
    const Bits sign = hn::ShiftLeft<7>(hn::ShiftRight<31>(hn::BitCast(kU, x)));
    const Vec size = hn::Min(hn::Abs(x), broadcast(kMaxF8));
    const Bits normal = hn::Sub(round_bits<20>(hn::BitCast(kU, size)), hn::Set(kU, 0x3c0));
    const Vec units = hn::Add(size, broadcast(16384.0f));  // the adder rounds to units of 2^-9
    const Bits subnormal = hn::Sub(hn::BitCast(kU, units), hn::Set(kU, 0x46800000));
    const auto is_small = hn::RebindMask(kU, hn::Lt(size, broadcast(0x1p-6f)));
    store_bits(hn::Or(sign, hn::IfThenElse(is_small, subnormal, normal)), to + i);
  }
  for (; i < count; ++i) to[i] = f32_to_f8(std::clamp(from[i] * inverse, -kMaxF8, kMaxF8));
  return std::ldexp(1.0f, exponent);
}

void widen_bf16(const std::uint16_t* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(load_bf16(from + i), to + i);
  for (; i < count; ++i) to[i] = bf16_to_f32(from[i]);
}

void widen_f8(const std::uint8_t* from, float scale, std::size_t count, float* to) {
  const Vec unit = broadcast(scale * kUnit<F8>);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store(hn::Mul(load_kv(reinterpret_cast<const F8*>(from + i)), unit), to + i);
  }
  for (; i < count; ++i) to[i] = f8_to_f32(from[i]) * scale;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(narrow_f8);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(widen_f8);

float narrow_kv(DType type, const float* from, std::size_t count, void* to) {
  switch (type) {
    case DType::kF16:
      to_f16(from, count, static_cast<std::uint16_t*>(to));
      return 1.0f;
    case DType::kBF16:
      round_to_bf16(from, count, static_cast<std::uint16_t*>(to));
      return 1.0f;
    case DType::kI8:
      return to_i8(from, count, static_cast<std::int8_t*>(to));
    case DType::kF8E4M3:
      return HWY_DYNAMIC_DISPATCH(narrow_f8)(from, count, static_cast<std::uint8_t*>(to));
    default:
      std::copy_n(from, count, static_cast<float*>(to));
      return 1.0f;
  }
}

void widen_kv(DType type, const void* from, float scale, std::size_t count, float* to) {
  switch (type) {
    case DType::kF16:
      return from_f16(static_cast<const std::uint16_t*>(from), count, to);
    case DType::kBF16:
      return HWY_DYNAMIC_DISPATCH(widen_bf16)(static_cast<const std::uint16_t*>(from), count, to);
    case DType::kI8:
      return from_i8(static_cast<const std::int8_t*>(from), scale, count, to);
    case DType::kF8E4M3:
      return HWY_DYNAMIC_DISPATCH(widen_f8)(static_cast<const std::uint8_t*>(from), scale, count,
                                            to);
    default:
      std::copy_n(static_cast<const float*>(from), count, to);
  }
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
