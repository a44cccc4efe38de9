// SPDX-License-Identifier: Apache-2.0
//
// Dequantises eight neighbouring values of a stored block to f32. The bits are those of
// dequantize_row() in tensor/dtype.h.
//
// A thread takes eight values, so that neighbouring threads read neighbouring bytes and write full
// sectors of f32 or bf16. Products and sums are kept apart by intrinsics: contraction into one
// fused multiply-add would change bits. Loads are as wide as the block's alignment allows. Threads:
// any; pure functions.
#pragma once

#include "common/stored_types.h"

namespace tandem::gpu_kernels {

// Eight bytes in one word, the first lowest; kAlignment of the address: 2, 4 or more.
template <int kAlignment>
__device__ std::uint64_t load_eight_bytes(const std::uint8_t* from) {
  if constexpr (kAlignment >= 8) {
    return *reinterpret_cast<const std::uint64_t*>(from);
  } else if constexpr (kAlignment == 4) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(from);
    return words[0] | static_cast<std::uint64_t>(words[1]) << 32;
  } else {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
    const std::uint32_t low = halves[0] | static_cast<std::uint32_t>(halves[1]) << 16;
    const std::uint32_t high = halves[2] | static_cast<std::uint32_t>(halves[3]) << 16;
    return low | static_cast<std::uint64_t>(high) << 32;
  }
}

__device__ inline int byte_of(std::uint64_t bytes, int index) {
  return static_cast<int>((bytes >> (8 * index)) & 0xffu);
}

// Values first .. first + 7 of a block of 32 with 16 bytes of nibbles.
template <typename Block>
__device__ std::uint64_t load_eight_nibbles(const Block& block, int first) {
  constexpr int kAligned = Block::kAlignment > 8 ? 8 : Block::kAlignment;
  const std::uint64_t bytes = load_eight_bytes<kAligned>(block.nibbles + first % 16);
  return (bytes >> (first < 16 ? 0 : 4)) & 0x0f0f0f0f0f0f0f0full;
}

// Entry 0..15 of the table of iq4_nl.
__device__ inline int iq4_nl_value(int index) {
  // -127 -104 -83 -65 -49 -35 -22 -10 and 1 13 25 38 53 69 89 113, lowest byte first
  const std::uint64_t half = index < 8 ? 0xf6eaddcfbfad9881ull : 0x7159453526190d01ull;
  return static_cast<std::int8_t>((half >> (8 * (index % 8))) & 0xffu);
}

__device__ inline float scaled(float scale, int q) {
  return __fmul_rn(scale, static_cast<float>(q));
}

__device__ inline void dequantize_eight(const BlockQ8_0& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale});
  const std::uint64_t bytes = load_eight_bytes<2>(block.q + first);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = scaled(scale, static_cast<std::int8_t>(byte_of(bytes, i)));
}

__device__ inline void dequantize_eight(const BlockQ4_0& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale});
  const std::uint64_t q = load_eight_nibbles(block, first);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = scaled(scale, byte_of(q, i) - 8);
}

__device__ inline void dequantize_eight(const BlockQ4_1& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale}), min = widen(F16{block.min});
  const std::uint64_t q = load_eight_nibbles(block, first);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __fadd_rn(scaled(scale, byte_of(q, i)), min);
}

__device__ inline void dequantize_eight(const BlockQ5_0& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale});
  const std::uint64_t q = load_eight_nibbles(block, first);
  const int high = block.high_bits[first / 8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to[i] = scaled(scale, (byte_of(q, i) | (((high >> i) & 1) << 4)) - 16);
  }
}

__device__ inline void dequantize_eight(const BlockQ5_1& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale}), min = widen(F16{block.min});
  const std::uint64_t q = load_eight_nibbles(block, first);
  const int high = block.high_bits[first / 8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to[i] = __fadd_rn(scaled(scale, byte_of(q, i) | (((high >> i) & 1) << 4)), min);
  }
}

__device__ inline void dequantize_eight(const BlockIQ4_NL& block, int first, float (&to)[8]) {
  const float scale = widen(F16{block.scale});
  const std::uint64_t q = load_eight_nibbles(block, first);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = scaled(scale, iq4_nl_value(byte_of(q, i)));
}

// The 6-bit scale and min of sub-block 0..7 of a q4_K or q5_K block.
struct SubBlockScale {
  int scale, min;
};
__device__ inline SubBlockScale sub_block_scale(const std::uint8_t* scales, int j) {
  if (j < 4) return {scales[j] & 63, scales[j + 4] & 63};
  return {(scales[j + 4] & 15) | ((scales[j - 4] >> 6) << 4),
          (scales[j + 4] >> 4) | ((scales[j] >> 6) << 4)};
}

// Nibbles first .. first + 7 of a q4_K or q5_K block.
template <typename Block>
__device__ std::uint64_t load_k_nibbles(const Block& block, int first) {
  const int sub = first / 32;
  const std::uint64_t bytes = load_eight_bytes<8>(block.nibbles + sub / 2 * 32 + first % 32);
  return (bytes >> (sub % 2 * 4)) & 0x0f0f0f0f0f0f0f0full;
}

template <typename Block>
__device__ void scale_k_values(const Block& block, int sub, std::uint64_t q, float (&to)[8]) {
  const SubBlockScale k = sub_block_scale(block.scales, sub);
  const float scale = scaled(widen(F16{block.scale}), k.scale);
  const float min = scaled(widen(F16{block.min}), k.min);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __fsub_rn(scaled(scale, byte_of(q, i)), min);
}

__device__ inline void dequantize_eight(const BlockQ4_K& block, int first, float (&to)[8]) {
  scale_k_values(block, first / 32, load_k_nibbles(block, first), to);
}

__device__ inline void dequantize_eight(const BlockQ5_K& block, int first, float (&to)[8]) {
  const int sub = first / 32;
  const std::uint64_t high = load_eight_bytes<8>(block.high_bits + first % 32) >> sub;
  const std::uint64_t q = load_k_nibbles(block, first) | ((high & 0x0101010101010101ull) << 4);
  scale_k_values(block, sub, q, to);
}

__device__ inline void dequantize_eight(const BlockQ6_K& block, int first, float (&to)[8]) {
  const int half = first / 128, quarter = first % 128 / 32, i = first % 32;
  const std::uint64_t nibbles =
      load_eight_bytes<2>(block.nibbles + half * 64 + quarter % 2 * 32 + i) >> (quarter / 2 * 4);
  const std::uint64_t high = load_eight_bytes<2>(block.high_bits + half * 32 + i) >> (quarter * 2);
  const std::uint64_t q = (nibbles & 0x0f0f0f0f0f0f0f0full) | ((high & 0x0303030303030303ull) << 4);
  const float scale =
      scaled(widen(F16{block.scale}), static_cast<std::int8_t>(block.scales[first / 16]));
#pragma unroll
  for (int v = 0; v < 8; ++v) to[v] = scaled(scale, byte_of(q, v) - 32);
}

}  // namespace tandem::gpu_kernels
