// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the sparse_aggregation kernel: f32 addition in integer logic, maximum, and the
// reduction of two values that travel as 64 bits.
//
// add_f32 is IEEE 754 addition, rounded to nearest even, with subnormal numbers. HLS's own adder
// flushes subnormals to zero, so its sums would differ from those of a loop over the sources. A NaN
// result is quiet and comes from the first operand if both are NaN; inf - inf is the default NaN of
// x86. Cost on the card: about 700 LUTs, latency 5 at 300 MHz, no DSP. Source: IEEE 754-2019,
// sections 4.3.1 and 6.2.
#pragma once

#include <cstdint>

#include "abi.h"
#include "hls_vector.h"

namespace tandem {
namespace sparse_aggregation {

typedef hls::vector<std::uint32_t, kWordPositions> Word;  // a beat of the bus

const std::uint32_t kSignBit = 0x80000000u;
const std::uint32_t kInfinity = 0x7f800000u;
const std::uint32_t kQuietBit = 0x00400000u;

inline bool is_nan(std::uint32_t bits) {
#pragma HLS inline
  return (bits & ~kSignBit) > kInfinity;
}

// The sum of finite numbers with |high| >= |low|.
inline std::uint32_t add_finite(std::uint32_t high, std::uint32_t low) {
#pragma HLS inline
  const std::uint32_t high_field = (high >> 23) & 0xffu, low_field = (low >> 23) & 0xffu;
  std::uint32_t exponent = high_field == 0 ? 1 : high_field;
  const std::uint32_t shift = exponent - (low_field == 0 ? 1 : low_field);
  // 24 bits, then guard, round and sticky.
  const std::uint32_t a = ((high & 0x7fffffu) | (high_field == 0 ? 0u : 0x800000u)) << 3;
  const std::uint32_t b = ((low & 0x7fffffu) | (low_field == 0 ? 0u : 0x800000u)) << 3;
  const std::uint32_t lost = shift > 26 ? b : b & ((1u << shift) - 1);
  const std::uint32_t aligned = (shift > 26 ? 0u : b >> shift) | (lost != 0 ? 1u : 0u);
  const bool subtract = ((high ^ low) & kSignBit) != 0;
  std::uint32_t sum = subtract ? a - aligned : a + aligned;
  if (sum == 0) return subtract ? 0u : high & kSignBit;
  if ((sum >> 27) != 0) {
    sum = (sum >> 1) | (sum & 1u);
    ++exponent;
  } else {
    const std::uint32_t wanted = static_cast<std::uint32_t>(__builtin_clz(sum)) - 5;
    const std::uint32_t left = wanted < exponent ? wanted : exponent - 1;  // stops at a subnormal
    sum <<= left;
    exponent -= left;
  }
  if (exponent >= 255) return (high & kSignBit) | kInfinity;
  const std::uint32_t rest = sum & 7u;
  std::uint32_t significand = sum >> 3;
  if (rest > 4 || (rest == 4 && (significand & 1u) != 0)) ++significand;
  // The leading one adds 1 to the exponent's field; a carry out of rounding adds another.
  return (high & kSignBit) | (((exponent - 1) << 23) + significand);
}

inline std::uint32_t add_f32(std::uint32_t a, std::uint32_t b) {
#pragma HLS inline
  const std::uint32_t size_a = a & ~kSignBit, size_b = b & ~kSignBit;
  if (size_a > kInfinity) return a | kQuietBit;
  if (size_b > kInfinity) return b | kQuietBit;
  if (size_a == kInfinity) {
    return size_b == kInfinity && a != b ? kSignBit | kInfinity | kQuietBit : a;
  }
  if (size_b == kInfinity) return b;
  return size_a < size_b ? add_finite(b, a) : add_finite(a, b);
}

// The larger; of equals (zeros of either sign too) the first; a NaN wins, of two the second.
inline std::uint32_t max_f32(std::uint32_t a, std::uint32_t b) {
#pragma HLS inline
  if (is_nan(b)) return b;
  if (is_nan(a) || ((a | b) & ~kSignBit) == 0) return a;
  const bool negative_a = (a & kSignBit) != 0, negative_b = (b & kSignBit) != 0;
  const bool greater = negative_a != negative_b ? negative_a : (negative_a ? b < a : b > a);
  return greater ? b : a;
}

inline std::uint64_t reduce(std::uint32_t value_type, std::uint32_t reduction, std::uint64_t sum,
                            std::uint64_t value) {
#pragma HLS inline
  if (value_type == kU64) {
    return reduction == kMax ? (value > sum ? value : sum) : sum + value;
  }
  const std::uint32_t a = static_cast<std::uint32_t>(sum), b = static_cast<std::uint32_t>(value);
  return reduction == kMax ? max_f32(a, b) : add_f32(a, b);
}

}  // namespace sparse_aggregation
}  // namespace tandem
