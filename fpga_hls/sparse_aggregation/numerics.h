// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the sparse_aggregation kernel: f32 addition in integer logic (exact_f32), maximum,
// and the reduction of two values that travel as 64 bits.
#pragma once

#include <cstdint>

#include "../exact_f32/arithmetic.h"
#include "abi.h"
#include "hls_vector.h"

namespace tandem {
namespace sparse_aggregation {

typedef hls::vector<std::uint32_t, kWordPositions> Word;  // a beat of the bus

using exact_f32::is_nan;
using exact_f32::kSignBit;

inline std::uint32_t add_f32(std::uint32_t a, std::uint32_t b) {
#pragma HLS inline
  return exact_f32::add(a, b);
}

// Returns the larger value. If both are equal (+0 and -0 are equal), returns the first. If one is
// NaN, returns the NaN; if both are NaN, the second.
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
