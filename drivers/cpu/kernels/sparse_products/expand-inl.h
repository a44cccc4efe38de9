// SPDX-License-Identifier: Apache-2.0
//
// Values without zeros as vectors with them, once per instruction set, and their places.
//
// AVX-512 has an instruction; AVX2 looks up a permutation of 8 lanes; others go lane by lane.
#if defined(TANDEM_CPU_EXPAND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_EXPAND_INL_H_
#undef TANDEM_CPU_EXPAND_INL_H_
#else
#define TANDEM_CPU_EXPAND_INL_H_
#endif

#include <bit>

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

inline constexpr std::uint64_t kLaneBits = (std::uint64_t{1} << kLanes) - 1;

#if HWY_TARGET == HWY_AVX2
// Of every byte of bits: which value a lane takes.
struct ExpandTable {
  alignas(32) std::int32_t lanes[256][8];
};

constexpr ExpandTable make_expand_table() {
  ExpandTable table{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::int32_t next = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      table.lanes[bits][lane] = next;
      next += static_cast<std::int32_t>(bits >> lane & 1);
    }
  }
  return table;
}

inline constexpr ExpandTable kExpandTable = make_expand_table();
#endif

// The first values in the lanes whose bit is set, zeros in the others. bits <= kLaneBits.
HWY_INLINE Vec expand(Vec values, std::uint64_t bits) {
#if HWY_TARGET <= HWY_AVX3
  return Vec{_mm512_maskz_expand_ps(static_cast<__mmask16>(bits), values.raw)};
#elif HWY_TARGET == HWY_AVX2
  const auto lanes = hn::SetTableIndices(kF, kExpandTable.lanes[bits]);
  std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits)};  // LoadMaskBits() may read all
  return hn::IfThenElseZero(hn::LoadMaskBits(kF, bytes), hn::TableLookupLanes(values, lanes));
#else
  float packed[kLanes], to[kLanes];
  hn::StoreU(values, kF, packed);
  std::size_t next = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const bool is_set = (bits >> lane & 1) != 0;
    to[lane] = is_set ? packed[next] : 0.0f;
    next += is_set ? 1 : 0;
  }
  return hn::LoadU(kF, to);
#endif
}

// Writes base + the positions of set bits, and up to 15 more values after them. Returns their
// number.
HWY_INLINE std::size_t write_places(std::uint64_t word, std::uint32_t base, std::uint32_t* to) {
#if HWY_TARGET <= HWY_AVX3
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::uint32_t* at = to;
  for (std::uint32_t i = 0; i < 64; i += 16, word >>= 16) {
    const auto bits = static_cast<__mmask16>(word);
    const __m512i places = _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(base + i)));
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi32(bits, places));
    at += std::popcount(static_cast<std::uint16_t>(bits));
  }
  return static_cast<std::size_t>(at - to);
#else
  std::size_t count = 0;
  for (; word != 0; word &= word - 1) {
    to[count++] = base + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  return count;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
