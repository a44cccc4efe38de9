// SPDX-License-Identifier: Apache-2.0
//
// The layout of packed weights (packed_weight.h): the planes of each type and their offsets, and
// the decoding of codes and scales.
//
// A code u is an unsigned integer of up to 6 bits, or of 8 signed ones; its value is a (u - offset)
// + b. Word t of a slab's 16 bytes holds the low bits of values 4 t .. 4 t + 3 and 16 + 4 t .. 16 +
// 4 t + 3. Threads: any; pure functions.
#pragma once

#include "common/blocks.cuh"
#include "gemm/packed_weight.h"

namespace tandem::gpu_kernels {

inline constexpr int kGroupSlabs = 8;

struct Packing {
  int bits = 4;           // of a code: 4, 5, 6, 8
  int offset = 0;         // subtracted from codes
  bool is_table = false;  // codes are indices of iq4_nl's table
  bool has_mins = false;  // a plane of f16 mins
  bool is_k = false;      // small scales in bytes, with a plane of super scales
  bool halves = false;    // a scale per 16 values
};

template <typename Block>
inline constexpr Packing kPacking = {};
template <>
inline constexpr Packing kPacking<BlockQ8_0> = {.bits = 8};
template <>
inline constexpr Packing kPacking<BlockQ4_0> = {.offset = 8};
template <>
inline constexpr Packing kPacking<BlockQ4_1> = {.has_mins = true};
template <>
inline constexpr Packing kPacking<BlockQ5_0> = {.bits = 5, .offset = 16};
template <>
inline constexpr Packing kPacking<BlockQ5_1> = {.bits = 5, .has_mins = true};
template <>
inline constexpr Packing kPacking<BlockIQ4_NL> = {.is_table = true};
template <>
inline constexpr Packing kPacking<BlockQ4_K> = {.is_k = true};
template <>
inline constexpr Packing kPacking<BlockQ5_K> = {.bits = 5, .is_k = true};
template <>
inline constexpr Packing kPacking<BlockQ6_K> = {
    .bits = 6, .offset = 32, .is_k = true, .halves = true};

// The size of a slab of one output: 16-byte chunks of codes, words of high bits.
template <typename Block>
inline constexpr int kChunks = kPacking<Block>.bits == 8 ? 2 : 1;
template <typename Block>
inline constexpr int kHighWords = kPacking<Block>.bits == 8 ? 0 : kPacking<Block>.bits - 4;

// Bytes from the beginning to each plane.
struct PackedPlanes {
  std::size_t high = 0, scales = 0, mins = 0, supers = 0, end = 0;  // codes: 0
  std::uint32_t slabs = 0, groups = 0;                              // per panel
};

template <typename Block>
__host__ __device__ PackedPlanes planes_of(std::int64_t out_features, std::int64_t in_features) {
  constexpr Packing kType = kPacking<Block>;
  const auto align = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
  const auto panels = static_cast<std::size_t>((out_features + kPanelOutputs - 1) / kPanelOutputs);
  PackedPlanes planes;
  planes.slabs = static_cast<std::uint32_t>(in_features / kSlabValues);
  planes.groups = (planes.slabs + kGroupSlabs - 1) / kGroupSlabs;
  const std::size_t slab_rows = panels * planes.slabs * kPanelOutputs;
  const std::size_t group_rows = panels * planes.groups * kPanelOutputs;
  planes.high = align(slab_rows * 16 * kChunks<Block>);
  planes.scales = align(planes.high + slab_rows * 4 * kHighWords<Block>);
  planes.mins = align(planes.scales + group_rows * 2 * kGroupSlabs);
  planes.supers = align(planes.mins + (kType.has_mins ? group_rows * 2 * kGroupSlabs : 0));
  planes.end = align(planes.supers + (kType.is_k ? group_rows * 4 : 0));
  return planes;
}

// Calls body(Block{}) for packable types; else returns otherwise.
template <typename Result, typename Body>
Result with_packable(StoredType type, Result otherwise, const Body& body) {
  return with_stored(type, [&](auto stored) {
    if constexpr (kIsBlock<decltype(stored)>) {
      return static_cast<Result>(body(stored));
    } else {
      return otherwise;
    }
  });
}

__device__ inline float f16_of(std::uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<std::uint16_t>(bits)));
}

// Four codes of iq4_nl's table by four indices in the lower half of a word.
__device__ inline std::uint32_t look_up_iq4_nl(std::uint32_t indices) {
  const std::uint32_t low = __byte_perm(0xbfad9881u, 0xf6eaddcfu, indices & 0x7777u);
  const std::uint32_t high = __byte_perm(0x26190d01u, 0x71594535u, indices & 0x7777u);
  return __byte_perm(low, high, 0x3210u | ((indices & 0x8888u) >> 1));
}

// Four bytes each: values 4 t .. and 16 + 4 t .. of a slab.
struct CodeQuads {
  std::uint32_t first, second;
};

// word: word t of the codes; high: the words of the plane of high bits.
template <typename Block>
__device__ CodeQuads decode_word(std::uint32_t word, const std::uint32_t (&high)[2], unsigned t) {
  constexpr Packing kType = kPacking<Block>;
  static_assert(kType.bits < 8);
  if constexpr (kType.is_table) {
    // values 0 16 1 17 and 2 18 3 19, lowest first
    const std::uint32_t low = look_up_iq4_nl(word), top = look_up_iq4_nl(word >> 16);
    return {__byte_perm(low, top, 0x6420u), __byte_perm(low, top, 0x7531u)};
  }
  CodeQuads quads{word & 0x0f0f0f0fu, (word >> 4) & 0x0f0f0f0fu};
  if constexpr (kType.bits == 5) {
    // bits i of four become bits 8 i + 4
    const std::uint32_t bits = high[0] >> (8 * t);
    quads.first |= ((bits & 15u) * 0x02040810u) & 0x10101010u;
    quads.second |= (((bits >> 4) & 15u) * 0x02040810u) & 0x10101010u;
  } else if constexpr (kType.bits == 6) {
    quads.first |= ((high[0] >> (2 * t)) & 0x03030303u) << 4;
    quads.second |= ((high[1] >> (2 * t)) & 0x03030303u) << 4;
  }
  return quads;
}

// value = a[half] * (u - offset) + b
struct SlabScale {
  float a[2];
  float b;
};

// scale, min: 16 bits of the slab; super: 32 of its group.
template <typename Block>
__device__ SlabScale slab_scale(std::uint32_t scale, std::uint32_t min, std::uint32_t super) {
  constexpr Packing kType = kPacking<Block>;
  if constexpr (kType.halves) {
    const float d = f16_of(super & 0xffffu);
    const int first = static_cast<std::int8_t>(scale & 0xffu);
    const int second = static_cast<std::int8_t>((scale >> 8) & 0xffu);
    return {{d * static_cast<float>(first), d * static_cast<float>(second)}, 0.0f};
  } else if constexpr (kType.is_k) {
    const float a = f16_of(super & 0xffffu) * static_cast<float>(scale & 0xffu);
    const float b = f16_of(super >> 16) * static_cast<float>((scale >> 8) & 0xffu);
    return {{a, a}, -b};
  } else {
    const float a = f16_of(scale);
    return {{a, a}, kType.has_mins ? f16_of(min) : 0.0f};
  }
}

template <typename Block>
inline constexpr bool kHasMin = kPacking<Block>.has_mins ||
                                (kPacking<Block>.is_k && !kPacking<Block>.halves);

}  // namespace tandem::gpu_kernels
