// SPDX-License-Identifier: Apache-2.0
//
// The types in which kernels keep a sparse matrix's values: those of their arithmetic, or bf16 for
// arithmetic in f32.
//
// Plain values; threads: any.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace tandem::sparse {

// A bfloat16: the upper half of an f32.
struct Bf16 {
  std::uint16_t bits = 0;
};

inline float widened(Bf16 value) { return bf16_to_f32(value.bits); }
inline float widened(float value) { return value; }
inline double widened(double value) { return value; }

// Rounds to nearest even; to bf16 by way of f32.
template <typename Stored>
Stored stored_as(double value) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return {f32_to_bf16(static_cast<float>(value))};
  } else {
    return static_cast<Stored>(value);
  }
}

}  // namespace tandem::sparse
