// SPDX-License-Identifier: Apache-2.0
//
// Integer dot products of quads: a 32-bit lane holds 4 codes of a weight (unsigned bytes) or 4
// activations (signed bytes), and their 4 products are added to an int32.
//
// dot<kBits>() is exact for codes below 2^kBits and activations in -127..127. If kEightBitSigned,
// codes of 8 bits are passed less 128, and no correction is needed. AVX-512 with VNNI has one
// instruction for it; it is written as assembly because the target attributes of Highway name
// avxvnni but not avx512vnni. AVX-512 and AVX2 without VNNI, and NEON, multiply to int16; |code| *
// |x| * 2 always fits. Builds for aarch64 use sdot only with -march=armv8.2-a+dotprod or later.
// Other targets use the generic code at the end.
#if defined(TANDEM_CPU_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_DOT_INL_H_
#undef TANDEM_CPU_DOT_INL_H_
#else
#define TANDEM_CPU_DOT_INL_H_
#endif

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using Ints = hn::Vec<IntTag>;
using Words = hn::Vec<WordTag>;
inline constexpr IntTag kI;
inline constexpr WordTag kW;

#if HWY_TARGET <= HWY_AVX3_DL
inline constexpr bool kEightBitSigned = false;

template <int kBits>
HWY_INLINE Ints dot(Ints sum, Words codes, Ints x) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(codes.raw), "v"(x.raw));
  return sum;
}

#elif HWY_TARGET == HWY_AVX3
inline constexpr bool kEightBitSigned = true;

template <int kBits>
HWY_INLINE Ints dot(Ints sum, Words codes, Ints x) {
  __m512i a = codes.raw, b = x.raw;
  if constexpr (kBits == 8) {  // |w| * (x with the sign of w)
    const __m512i w = _mm512_xor_si512(a, _mm512_set1_epi8(-128));
    b = _mm512_mask_sub_epi8(b, _mm512_movepi8_mask(w), _mm512_setzero_si512(), b);
    a = _mm512_abs_epi8(w);
  }
  const __m512i pairs = _mm512_maddubs_epi16(a, b);
  return Ints{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
}

#elif HWY_TARGET == HWY_AVX2
inline constexpr bool kEightBitSigned = true;

template <int kBits>
HWY_INLINE Ints dot(Ints sum, Words codes, Ints x) {
  __m256i a = codes.raw, b = x.raw;
  if constexpr (kBits == 8) {  // |w| * (x with the sign of w)
    const __m256i w = _mm256_xor_si256(a, _mm256_set1_epi8(-128));
    b = _mm256_sign_epi8(b, w);
    a = _mm256_abs_epi8(w);
  }
  const __m256i pairs = _mm256_maddubs_epi16(a, b);
  return Ints{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
}

#elif HWY_TARGET == HWY_NEON
inline constexpr bool kEightBitSigned = true;

template <int kBits>
HWY_INLINE Ints dot(Ints sum, Words codes, Ints x) {
  int8x16_t w = vreinterpretq_s8_u32(codes.raw);
  if constexpr (kBits == 8) w = veorq_s8(w, vdupq_n_s8(-128));
  const int8x16_t b = vreinterpretq_s8_s32(x.raw);
#if defined(__ARM_FEATURE_DOTPROD)
  return Ints{vdotq_s32(sum.raw, w, b)};
#else
  const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(b));
  const int16x8_t high = vmull_s8(vget_high_s8(w), vget_high_s8(b));
  return Ints{vpadalq_s16(sum.raw, vpaddq_s16(low, high))};
#endif
}

#else
inline constexpr bool kEightBitSigned = false;

// Any other target: generic code of Highway, one byte of every lane at a time.
template <int kBits>
HWY_INLINE Ints dot(Ints sum, Words codes, Ints x) {
  const auto add = [&](auto w, auto b) { sum = hn::Add(sum, hn::Mul(hn::BitCast(kI, w), b)); };
  const Words byte = hn::Set(kW, 255u);
  add(hn::And(codes, byte), hn::ShiftRight<24>(hn::ShiftLeft<24>(x)));
  add(hn::And(hn::ShiftRight<8>(codes), byte), hn::ShiftRight<24>(hn::ShiftLeft<16>(x)));
  add(hn::And(hn::ShiftRight<16>(codes), byte), hn::ShiftRight<24>(hn::ShiftLeft<8>(x)));
  add(hn::ShiftRight<24>(codes), hn::ShiftRight<24>(x));
  return sum;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
