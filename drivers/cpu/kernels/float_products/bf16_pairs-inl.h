// SPDX-License-Identifier: Apache-2.0
//
// Pairs of neighbouring values of bf16 and e4m3 in vectors, and their dot product, once per
// instruction set.
//
// With AVX512-BF16 pairs of e4m3 become bf16: each byte of 64 codes by a table in two registers, 6
// instructions (and two copies) for two vectors. Else they become f16 by two shifts, and f32 by one
// conversion: 8 instructions per vector.
#if defined(TANDEM_CPU_BF16_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_BF16_PAIRS_INL_H_
#undef TANDEM_CPU_BF16_PAIRS_INL_H_
#else
#define TANDEM_CPU_BF16_PAIRS_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/float_products/f8_panel.h"
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

using WordTag = hn::RebindToUnsigned<FloatTag>;
using Words = hn::Vec<WordTag>;
inline constexpr WordTag kW;

// Of weights, or one pair of a row in every lane.
HWY_INLINE Words load_pairs(const std::byte* from) {
  return hn::LoadU(kW, reinterpret_cast<const std::uint32_t*>(from));
}
HWY_INLINE Words broadcast_pair(const std::uint16_t* from) {
  std::uint32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return hn::Set(kW, pair);
}

// The first and the second inputs of pairs of e4m3, over kF8Unit.
HWY_INLINE void load_f8_pairs(const std::byte* from, Vec& first, Vec& second) {
#if HWY_TARGET == HWY_SCALAR
  first = hn::Set(kF, f8_to_f32(std::to_integer<std::uint8_t>(from[0])) / kF8Unit);
  second = hn::Set(kF, f8_to_f32(std::to_integer<std::uint8_t>(from[1])) / kF8Unit);
#else
  const hn::Rebind<std::int16_t, FloatTag> wide;
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  const auto pairs = hn::LoadU(wide, reinterpret_cast<const std::int16_t*>(from));
  // The sign also fills bit 14, the first of the exponent; other bits follow the code.
  const auto code = hn::Set(wide, static_cast<std::int16_t>(0xbf80));
  const auto low = hn::And(hn::ShiftRight<1>(hn::ShiftLeft<8>(pairs)), code);
  const auto high = hn::And(hn::ShiftRight<1>(pairs), code);
  first = hn::PromoteTo(kF, hn::BitCast(half, low));
  second = hn::PromoteTo(kF, hn::BitCast(half, high));
#endif
}

// Arithmetics: Pair, what a vector of pairs is in registers; load_f8() of kV of them; the words()
// of one that came from there, in bf16; and add().
struct Widened {
  static constexpr int kRows = kRegisters == 32 ? 5 : 4;
  using Pair = Vec[2];  // a struct's constructor would not be compiled for the target
  static HWY_INLINE void widen(Words pairs, Pair& to) {
    to[0] = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
    to[1] = hn::BitCast(kF, hn::And(pairs, hn::Set(kW, 0xffff0000u)));
  }
  template <int kV>
  static HWY_INLINE void load_f8(const std::byte* from, Pair (&to)[kV]) {
    for (int v = 0; v < kV; ++v) load_f8_pairs(from + v * kLanes * 2, to[v][0], to[v][1]);
  }
  static HWY_INLINE Words words(const Pair& pair) {  // lower halves of e4m3 values are zero
    return hn::Or(hn::ShiftRight<16>(hn::BitCast(kW, pair[0])), hn::BitCast(kW, pair[1]));
  }
  static HWY_INLINE Vec add(const Pair& w, const Pair& x, Vec sum) {
    return hn::MulAdd(w[1], x[1], hn::MulAdd(w[0], x[0], sum));
  }
};

#if HWY_TARGET <= HWY_AVX3_DL
using ByteTag = hn::Repartition<std::uint8_t, FloatTag>;
using Bytes = hn::Vec<ByteTag>;
inline constexpr ByteTag kB;

// Of every code without its sign: a byte of the bf16 over kF8Unit, which has no subnormals.
struct F8Table {
  alignas(64) std::uint8_t low[128];
  alignas(64) std::uint8_t high[128];
};

constexpr F8Table make_f8_table() {
  constexpr int kBias = 127 - std::bit_width(static_cast<unsigned>(kF8Unit)) + 1;  // of kF8Unit: 0
  F8Table table{};
  for (unsigned code = 1; code < 128; ++code) {
    const int exponent = static_cast<int>(code >> 3), fraction = static_cast<int>(code & 7);
    const int top = std::bit_width(code) - 1;  // of a subnormal, fraction * 2^-9
    const int bits = exponent > 0 ? (exponent - 7 + kBias) * 128 + fraction * 16
                                  : (top - 9 + kBias) * 128 + (fraction << (7 - top)) - 128;
    table.low[code] = static_cast<std::uint8_t>(bits & 0xff);
    table.high[code] = static_cast<std::uint8_t>(bits >> 8);
  }
  return table;
}

inline constexpr F8Table kF8Table = make_f8_table();

HWY_INLINE Bytes look_up(const std::uint8_t* table, Bytes codes) {
  return Bytes{
      _mm512_permutex2var_epi8(hn::Load(kB, table).raw, codes.raw, hn::Load(kB, table + 64).raw)};
}

// The bf16 of 64 codes: of the first 32 and, in `second`, of the others.
HWY_INLINE void widen_codes(Bytes codes, Words& first, Words& second) {
  // Interleaving takes 8 bytes of each quarter: the first 32 become the lower halves of quarters.
  const hn::Repartition<std::uint64_t, FloatTag> eights;
  alignas(64) static constexpr std::uint64_t kOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};
  const auto order = hn::SetTableIndices(eights, kOrder);
  codes = hn::BitCast(kB, hn::TableLookupLanes(hn::BitCast(eights, codes), order));
  const Bytes low = look_up(kF8Table.low, codes);
  const Bytes high =
      hn::OrAnd(look_up(kF8Table.high, codes), codes, hn::Set(kB, std::uint8_t{0x80}));
  first = hn::BitCast(kW, hn::InterleaveLower(kB, low, high));
  second = hn::BitCast(kW, hn::InterleaveUpper(kB, low, high));
}

// Written as assembly: not every Highway has a target with these instructions.
struct Paired {
  static constexpr int kRows = 6;
  using Pair = Words;
  static HWY_INLINE void widen(Words pairs, Pair& to) { to = pairs; }
  template <int kV>
  static HWY_INLINE void load_f8(const std::byte* from, Pair (&to)[kV]) {
    static_assert(kV == 1 || kV % 2 == 0);
    const auto* codes = reinterpret_cast<const std::uint8_t*>(from);
    if constexpr (kV == 1) {
      Words none;
      const hn::Half<ByteTag> half;
      widen_codes(hn::ZeroExtendVector(kB, hn::LoadU(half, codes)), to[0], none);
    } else {
      for (int v = 0; v < kV; v += 2) {
        widen_codes(hn::LoadU(kB, codes + v * kLanes * 2), to[v], to[v + 1]);
      }
    }
  }
  static HWY_INLINE Words words(const Pair& pair) { return pair; }
  static HWY_INLINE Vec add(const Pair& w, const Pair& x, Vec sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
    return sum;
  }
};

inline bool has_pairs() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}
#endif

// Storages: the bytes of a pair in a panel, and how pairs come into registers.
struct StoredBf16 {
  static constexpr std::size_t kBytes = 4;
  static constexpr bool kIsScaled = false;
  template <typename Type, int kV>
  static HWY_INLINE void load(const std::byte* from, typename Type::Pair (&to)[kV]) {
    for (int v = 0; v < kV; ++v) Type::widen(load_pairs(from + v * kLanes * kBytes), to[v]);
  }
};

struct StoredF8 {
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kIsScaled = true;
  template <typename Type, int kV>
  static HWY_INLINE void load(const std::byte* from, typename Type::Pair (&to)[kV]) {
    Type::load_f8(from, to);
  }
};

// Codes of e4m3 that widen_chunk() made bf16.
struct WidenedF8 : StoredBf16 {
  static constexpr bool kIsScaled = true;
};

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
