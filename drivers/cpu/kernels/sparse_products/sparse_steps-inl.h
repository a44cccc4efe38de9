// SPDX-License-Identifier: Apache-2.0
//
// A vector of values times the inputs at their places, once per instruction set.
//
// AVX-512 looks 256 inputs up in registers; others gather them. Every type has Stored, the values;
// Input, the rows; and kStep, the values of a step. It is made from the first input of a block;
// add() takes up to kStep of `count` values. Lanes past `count` add nothing, or zero times some f32
// input of the block.
#if defined(TANDEM_CPU_SPARSE_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_SPARSE_STEPS_INL_H_
#undef TANDEM_CPU_SPARSE_STEPS_INL_H_
#else
#define TANDEM_CPU_SPARSE_STEPS_INL_H_
#endif

#include <algorithm>

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

// Types of weights: kLanes stored values as f32.
struct SparseF32 {
  using Stored = float;
  static HWY_INLINE Vec widen(const float* from) { return load(from); }
};

struct SparseF16 {
  using Stored = std::uint16_t;
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_f16(from); }
};

struct SparseBf16 {
  using Stored = std::uint16_t;
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_bf16(from); }
};

#if HWY_TARGET <= HWY_AVX3
// An instruction looks 16 lanes up among 32 inputs, by the lowest five bits of their places; the
// upper three choose among eight results.
template <typename Type>
struct AddFloats : Type {
  using Stored = typename Type::Stored;
  using Input = float;
  static constexpr std::size_t kStep = kLanes;

  HWY_INLINE explicit AddFloats(const float* x) {
    for (std::size_t i = 0; i < 16; ++i) inputs[i] = _mm512_loadu_ps(x + i * 16);
  }
  HWY_INLINE __m512 of_64(int at, __m512i places, __mmask16 bit5) const {
    const __m512* x = inputs + at * 4;
    return _mm512_mask_mov_ps(_mm512_permutex2var_ps(x[0], places, x[1]), bit5,
                              _mm512_permutex2var_ps(x[2], places, x[3]));
  }
  HWY_INLINE void add(const std::uint8_t* places, const Stored* values, std::size_t count,
                      Vec& sum) const {
    const auto mask = static_cast<__mmask16>((1u << std::min(count, kStep)) - 1);
    const __m512i at =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(places)));
    const __mmask16 bit5 = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    const __mmask16 bit6 = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
    const __mmask16 bit7 = _mm512_test_epi32_mask(at, _mm512_set1_epi32(128));
    const __m512 low = _mm512_mask_mov_ps(of_64(0, at, bit5), bit6, of_64(1, at, bit5));
    const __m512 high = _mm512_mask_mov_ps(of_64(2, at, bit5), bit6, of_64(3, at, bit5));
    const __m512 x = _mm512_mask_mov_ps(low, bit7, high);
    sum.raw = _mm512_mask3_fmadd_ps(Type::widen(values).raw, x, sum.raw, mask);
  }

  __m512 inputs[16];
};
#else
template <typename Type>
struct AddFloats : Type {
  using Stored = typename Type::Stored;
  using Input = float;
  static constexpr std::size_t kStep = kLanes;

  HWY_INLINE explicit AddFloats(const float* x) : inputs(x) {}
  HWY_INLINE void add(const std::uint8_t* places, const Stored* values, std::size_t count,
                      Vec& sum) const {
    const hn::Rebind<std::uint8_t, FloatTag> narrow;
    const hn::RebindToSigned<FloatTag> wide;
    const auto at = hn::PromoteTo(wide, hn::LoadU(narrow, places));
    const Vec w = hn::IfThenElseZero(hn::FirstN(kF, count), Type::widen(values));
    sum = hn::MulAdd(w, hn::GatherIndex(kF, inputs, at), sum);
  }

  const float* inputs;
};
#endif

#if HWY_TARGET <= HWY_AVX3_DL
// 32 values of 16 bits at once, looked up among 64 inputs. The dot product of pairs is written as
// assembly, because not every Highway has a target with it.
struct AddPairs {
  using Stored = std::uint16_t;
  using Input = std::uint16_t;
  static constexpr std::size_t kStep = 32;

  HWY_INLINE explicit AddPairs(const std::uint16_t* x) {
    for (std::size_t i = 0; i < 8; ++i) inputs[i] = _mm512_loadu_si512(x + i * 32);
  }
  HWY_INLINE __m512i of_64(int at, __m512i places) const {
    return _mm512_permutex2var_epi16(inputs[at * 2], places, inputs[at * 2 + 1]);
  }
  HWY_INLINE void add(const std::uint8_t* places, const Stored* values, std::size_t count,
                      Vec& sum) const {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << std::min(count, kStep)) - 1);
    const __m512i at =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(places)));
    const __mmask32 bit6 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(64));
    const __mmask32 bit7 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(128));
    const __m512i low = _mm512_mask_mov_epi16(of_64(0, at), bit6, of_64(1, at));
    const __m512i high = _mm512_mask_mov_epi16(of_64(2, at), bit6, of_64(3, at));
    const __m512i x = _mm512_mask_mov_epi16(low, bit7, high);
    const __m512i w = _mm512_maskz_loadu_epi16(mask, values);
    const __m512i mine =
        _mm512_maskz_mov_epi16(mask, x);  // behind the last input there is anything
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w), "v"(mine));
  }

  __m512i inputs[8];
};

bool has_sparse_pairs() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
