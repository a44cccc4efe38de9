// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the attention_decode kernel: bit casts, exponential, logarithm, the storage types
// of KV rows, and sums of lanes.
//
// All f32. exp_of and log_of are within 5e-7 relative (log_of: absolute near 0) over their domains
// and pass NaN through. They use no table, no branch and no library, so emulation and hardware
// compute the same function and a C++ compiler vectorises them over lanes. Source: Taylor series on
// a reduced argument.
#pragma once

#include <cstdint>

#include "abi.h"
#include "hls_half.h"
#include "hls_vector.h"

namespace tandem {
namespace attention_decode {

typedef hls::vector<std::uint32_t, kWordFloats> IoWord;  // a beat of descriptor or result
typedef hls::vector<std::uint16_t, kChunk> PoolWord;     // a beat of a pool
typedef hls::vector<float, kPageRows> TokenLanes;        // one value per token of a page

inline float bits_to_float(std::uint32_t bits) {
#pragma HLS inline
  union {
    std::uint32_t bits;
    float value;
  } cast;
  cast.bits = bits;
  return cast.value;
}

inline std::uint32_t float_to_bits(float value) {
#pragma HLS inline
  union {
    std::uint32_t bits;
    float value;
  } cast;
  cast.value = value;
  return cast.bits;
}

// A 16-bit number and its bits. The union has a constructor, because `half` of other tools than the
// emulation may have a non-trivial one.
template <typename Number>
union Bits16 {
  std::uint16_t bits;
  Number value;
  Bits16() : bits(0) {}
};

inline float half_bits_to_float(std::uint16_t bits) {
#pragma HLS inline
  Bits16<half> cast;
  cast.bits = bits;
  return cast.value;
}

inline std::uint16_t float_to_half_bits(float value) {
#pragma HLS inline
  Bits16<half> cast;
  cast.value = half(value);
  return cast.bits;
}

// e^x for x <= 0; below -87 it stays at e^-87. About 14 multiplications and additions.
inline float exp_of(float x) {
#pragma HLS inline
  const float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  x = x < -87.0f ? -87.0f : x;       // keeps NaN
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float sum = 1.0f / 720;
  sum = sum * f + 1.0f / 120;
  sum = sum * f + 1.0f / 24;
  sum = sum * f + 1.0f / 6;
  sum = sum * f + 0.5f;
  sum = sum * f + 1.0f;
  sum = sum * f + 1.0f;
  const float power = bits_to_float((float_to_bits(shifted) << 23) + 0x3f800000u);  // 2^n
  return sum * power;
}

// ln x for normal x > 0; NaN and infinity are returned unchanged.
inline float log_of(float x) {
#pragma HLS inline
  const std::uint32_t bits = float_to_bits(x);
  // Mantissa in [sqrt(1/2), sqrt(2)), so that the series argument stays below 0.172.
  const std::uint32_t offset = bits - 0x3f3504f3u;
  const int exponent = static_cast<int>(offset) >> 23;
  const float m = bits_to_float((offset & 0x007fffffu) + 0x3f3504f3u);
  const float s = (m - 1.0f) / (m + 1.0f);
  const float z = s * s;
  float sum = 2.0f / 9;
  sum = sum * z + 2.0f / 7;
  sum = sum * z + 2.0f / 5;
  sum = sum * z + 2.0f / 3;
  sum = sum * z + 2.0f;
  const float result = s * sum + static_cast<float>(exponent) * 0.693147181f;
  return (bits & 0x7f800000u) == 0x7f800000u ? x : result;
}

// Adds the upper half of the first 2 * Half lanes to the lower half: one level of an adder tree.
// The pragma of g++ keeps the loop for its vectoriser, which takes it for one addition of vectors.
template <int Half>
inline void fold_lanes(float lanes[kChunk]) {
#pragma HLS inline
#pragma GCC unroll 1
  for (int i = 0; i < Half; ++i) {
#pragma HLS unroll
    lanes[i] += lanes[i + Half];
  }
}

// Sum of 32 lanes by a tree of 31 adders, in fabric so that the DSPs stay with the multipliers.
inline float sum_of_lanes(float lanes[kChunk]) {
#pragma HLS inline
#pragma HLS bind_op variable = lanes op = fadd impl = fabric
  fold_lanes<16>(lanes);
  fold_lanes<8>(lanes);
  fold_lanes<4>(lanes);
  fold_lanes<2>(lanes);
  return lanes[0] + lanes[1];
}

inline void decode_f16(const PoolWord& word, float out[kChunk]) {
#pragma HLS inline
  for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
    out[i] = half_bits_to_float(word[i]);
  }
}

// `upper`: the high bytes, which hold the odd chunks of a row.
inline void decode_i8(const PoolWord& word, bool upper, float out[kChunk]) {
#pragma HLS inline
  for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
    const std::uint16_t pair = static_cast<std::uint16_t>(upper ? word[i] : word[i] << 8);
    out[i] = static_cast<float>(static_cast<std::int16_t>(pair) >> 8);
  }
}

// Low byte of the integer nearest to x, ties to even, for |x| <= 127: what the adder leaves at the
// end of the digits.
inline std::uint32_t quantised_byte(float x) {
#pragma HLS inline
  return float_to_bits(x + 12582912.0f) & 0xffu;
}

}  // namespace attention_decode
}  // namespace tandem
