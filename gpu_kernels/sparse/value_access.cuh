// SPDX-License-Identifier: Apache-2.0
//
// Packed values in device memory. They may begin at any multiple of the wire's alignment;
// eight-byte values after an odd number of indices begin at a multiple of four.
//
// Threads: neighbouring threads on neighbouring values make full-width accesses.
#pragma once

#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

template <typename Wire>
struct SumType {
  using Type = Wire;
};
template <>
struct SumType<F16> {
  using Type = float;
};
template <>
struct SumType<BF16> {
  using Type = float;
};
template <typename Wire>
using SumOf = typename SumType<Wire>::Type;

// values: [> at] of Wire.
template <typename Wire>
__device__ void store_wire(unsigned char* values, std::size_t at, SumOf<Wire> value) {
  Wire narrowed;
  narrow(value, narrowed);
  if constexpr (sizeof(Wire) == 8) {
    std::uint32_t halves[2];
    memcpy(halves, &narrowed, 8);
    auto* to = reinterpret_cast<std::uint32_t*>(values) + 2 * at;
    to[0] = halves[0];
    to[1] = halves[1];
  } else {
    reinterpret_cast<Wire*>(values)[at] = narrowed;
  }
}

template <typename Wire>
__device__ SumOf<Wire> load_wire(const unsigned char* values, std::size_t at) {
  Wire wire;
  if constexpr (sizeof(Wire) == 8) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(values) + 2 * at;
    const std::uint32_t halves[2] = {from[0], from[1]};
    memcpy(&wire, halves, 8);
  } else {
    wire = reinterpret_cast<const Wire*>(values)[at];
  }
  return widen(wire);
}

}  // namespace tandem::gpu_kernels
