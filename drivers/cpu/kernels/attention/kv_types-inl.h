// SPDX-License-Identifier: Apache-2.0
//
// The element types of KV tiles, and vectors of f32 loaded from them, once per instruction set.
//
// A value is the loaded number times its token's scale times kUnit of its type. float8 is loaded as
// an f16 with the same bits; the two exponent biases differ by 8, so kUnit is 2^8. The NaN pattern
// of float8 is loaded as 480, so the writer of a row with NaN sets the scale to NaN.
#if defined(TANDEM_CPU_KV_TYPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_KV_TYPES_INL_H_
#undef TANDEM_CPU_KV_TYPES_INL_H_
#else
#define TANDEM_CPU_KV_TYPES_INL_H_
#endif

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct F8 {
  std::uint8_t bits;
};

template <typename T>
inline constexpr float kUnit = 1.0f;
#if HWY_TARGET != HWY_SCALAR
template <>
inline constexpr float kUnit<F8> = 256.0f;
#endif

// The largest exponent of a row's scale for which scale * kUnit is finite.
inline constexpr int kMaxF8Exponent = 119;

HWY_INLINE Vec load_kv(const float* from) { return load(from); }
HWY_INLINE Vec load_kv(const F16* from) { return load_f16(&from->bits); }
HWY_INLINE Vec load_kv(const BF16* from) { return load_bf16(&from->bits); }
HWY_INLINE Vec load_kv(const std::int8_t* from) { return load_i8(from); }

HWY_INLINE Vec load_kv(const F8* from) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(kF, f8_to_f32(from->bits));
#else
  const hn::Rebind<std::int8_t, FloatTag> narrow;
  const hn::Rebind<std::int16_t, FloatTag> wide;
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  const auto bytes = hn::LoadU(narrow, reinterpret_cast<const std::int8_t*>(from));
  const auto shifted = hn::ShiftLeft<7>(hn::PromoteTo(wide, bytes));
  // The shift copied the sign into bit 14, too, the highest bit of the exponent.
  const auto bits = hn::AndNot(hn::Set(wide, 0x4000), shifted);
  return hn::PromoteTo(kF, hn::BitCast(half, bits));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
