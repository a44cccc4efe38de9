// SPDX-License-Identifier: Apache-2.0
//
// Multiplies a vector of stored weights with the inputs at their places, once per instruction set.
//
// AVX-512 looks 256 inputs up in registers; others gather them. Every type has Stored, the values;
// Input, the rows; and kStep, the values of a Step, of which it takes up to `count`. It is made
// from the first input of a block, for one row; add_row() is for several. Lanes past `count` add
// nothing, or zero times some f32 input of the block.
#if defined(TANDEM_CPU_SPARSE_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_SPARSE_STEPS_INL_H_
#undef TANDEM_CPU_SPARSE_STEPS_INL_H_
#else
#define TANDEM_CPU_SPARSE_STEPS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

// Types of weights: kLanes stored values as f32. Listed: the form of values that meet many rows one
// by one; spread() fills two vectors with a value each.
struct SparseF32 {
  using Stored = float;
  using Listed = float;
  static HWY_INLINE Vec widen(const float* from) { return load(from); }
  static HWY_INLINE void spread(const float* from, Vec (&to)[2]) {
    to[0] = broadcast(from[0]);
    to[1] = broadcast(from[1]);
  }
};

struct SparseF16 {
  using Stored = std::uint16_t;
  using Listed = float;  // a whole vector is widened at once
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_f16(from); }
  static HWY_INLINE void spread(const float* from, Vec (&to)[2]) { SparseF32::spread(from, to); }
};

struct SparseBf16 {
  using Stored = std::uint16_t;
  using Listed = std::uint16_t;
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_bf16(from); }
  // The pair fills every lane; then one of the two is the upper half of it.
  static HWY_INLINE void spread(const std::uint16_t* from, Vec (&to)[2]) {
    const hn::RebindToUnsigned<FloatTag> bits;
    std::uint32_t pair;
    std::memcpy(&pair, from, sizeof pair);
    const auto both = hn::Set(bits, pair);
    to[0] = hn::BitCast(kF, hn::ShiftLeft<16>(both));
    to[1] = hn::BitCast(kF, hn::And(both, hn::Set(bits, 0xffff0000u)));
  }
};

#if HWY_TARGET <= HWY_AVX3
// An instruction looks 16 lanes up among 32 inputs, by the lowest five bits of their places; the
// upper three choose among eight results.
template <typename Type>
struct AddFloats : Type {
  using Stored = typename Type::Stored;
  using Input = float;
  static constexpr std::size_t kStep = kLanes;

  // What rows share.
  struct Step {
    HWY_INLINE Step(const std::uint8_t* places, const Stored* values, std::size_t count)
        : mask(static_cast<__mmask16>((1u << std::min(count, kStep)) - 1)),
          at(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(places)))),
          bit5(_mm512_test_epi32_mask(at, _mm512_set1_epi32(32))),
          bit6(_mm512_test_epi32_mask(at, _mm512_set1_epi32(64))),
          bit7(_mm512_test_epi32_mask(at, _mm512_set1_epi32(128))),
          weights(Type::widen(values)) {}
    __mmask16 mask;
    __m512i at;
    __mmask16 bit5, bit6, bit7;
    Vec weights;
  };

  HWY_INLINE explicit AddFloats(const float* x) {
    for (std::size_t i = 0; i < 16; ++i) inputs[i] = _mm512_loadu_ps(x + i * 16);
  }
  HWY_INLINE void add(const Step& step, Vec& sum) const {
    add_of([this](std::size_t i) HWY_ATTR { return inputs[i]; }, step, sum);
  }
  // The inputs stay in memory.
  static HWY_INLINE void add_row(const float* x, const Step& step, Vec& sum) {
    add_of([x](std::size_t i) HWY_ATTR { return _mm512_loadu_ps(x + i * 16); }, step, sum);
  }

  template <typename InputAt>
  static HWY_INLINE void add_of(const InputAt& input, const Step& step, Vec& sum) {
    const auto of_64 = [&](std::size_t i) HWY_ATTR {
      return _mm512_mask_mov_ps(
          _mm512_permutex2var_ps(input(i * 4), step.at, input(i * 4 + 1)), step.bit5,
          _mm512_permutex2var_ps(input(i * 4 + 2), step.at, input(i * 4 + 3)));
    };
    const __m512 low = _mm512_mask_mov_ps(of_64(0), step.bit6, of_64(1));
    const __m512 high = _mm512_mask_mov_ps(of_64(2), step.bit6, of_64(3));
    const __m512 x = _mm512_mask_mov_ps(low, step.bit7, high);
    sum.raw = _mm512_mask3_fmadd_ps(step.weights.raw, x, sum.raw, step.mask);
  }

  __m512 inputs[16];
};
#else
template <typename Type>
struct AddFloats : Type {
  using Stored = typename Type::Stored;
  using Input = float;
  static constexpr std::size_t kStep = kLanes;

  // What rows share.
  struct Step {
    HWY_INLINE Step(const std::uint8_t* places, const Stored* values, std::size_t count)
        : at(hn::PromoteTo(hn::RebindToSigned<FloatTag>(),
                           hn::LoadU(hn::Rebind<std::uint8_t, FloatTag>(), places))),
          weights(hn::IfThenElseZero(hn::FirstN(kF, count), Type::widen(values))) {}
    hn::Vec<hn::RebindToSigned<FloatTag>> at;
    Vec weights;
  };

  HWY_INLINE explicit AddFloats(const float* x) : inputs(x) {}
  HWY_INLINE void add(const Step& step, Vec& sum) const { add_row(inputs, step, sum); }
  static HWY_INLINE void add_row(const float* x, const Step& step, Vec& sum) {
    sum = hn::MulAdd(step.weights, hn::GatherIndex(kF, x, step.at), sum);
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

  // What rows share.
  struct Step {
    HWY_INLINE Step(const std::uint8_t* places, const Stored* values, std::size_t count)
        : mask(static_cast<__mmask32>((std::uint64_t{1} << std::min(count, kStep)) - 1)),
          at(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(places)))),
          bit6(_mm512_test_epi16_mask(at, _mm512_set1_epi16(64))),
          bit7(_mm512_test_epi16_mask(at, _mm512_set1_epi16(128))),
          weights(_mm512_maskz_loadu_epi16(mask, values)) {}
    __mmask32 mask;
    __m512i at;
    __mmask32 bit6, bit7;
    __m512i weights;
  };

  HWY_INLINE explicit AddPairs(const std::uint16_t* x) {
    for (std::size_t i = 0; i < 8; ++i) inputs[i] = _mm512_loadu_si512(x + i * 32);
  }
  HWY_INLINE void add(const Step& step, Vec& sum) const {
    add_of([this](std::size_t i) HWY_ATTR { return inputs[i]; }, step, sum);
  }
  // The inputs stay in memory.
  static HWY_INLINE void add_row(const std::uint16_t* x, const Step& step, Vec& sum) {
    add_of([x](std::size_t i) HWY_ATTR { return _mm512_loadu_si512(x + i * 32); }, step, sum);
  }

  template <typename InputAt>
  static HWY_INLINE void add_of(const InputAt& input, const Step& step, Vec& sum) {
    const auto of_64 = [&](std::size_t i) HWY_ATTR {
      return _mm512_permutex2var_epi16(input(i * 2), step.at, input(i * 2 + 1));
    };
    const __m512i low = _mm512_mask_mov_epi16(of_64(0), step.bit6, of_64(1));
    const __m512i high = _mm512_mask_mov_epi16(of_64(2), step.bit6, of_64(3));
    const __m512i x = _mm512_mask_mov_epi16(low, step.bit7, high);
    const __m512i mine =
        _mm512_maskz_mov_epi16(step.mask, x);  // behind the last input there is anything
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(step.weights), "v"(mine));
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
