// SPDX-License-Identifier: Apache-2.0
//
// Maps floats to unsigned integers of the same order, and (float, index) to keys for searches of a
// maximum.
//
// +0 and -0 map to the same integer. NaN is not allowed; callers replace it first. A key is larger
// if its float is larger or, for equal floats, if its index is lower. The key 0 stands for no
// candidate. Pure functions.
#pragma once

#include "common/floats.h"

namespace tandem::gpu_kernels {

__device__ inline std::uint32_t ordered_bits(float value) {
  const std::uint32_t bits = bits_of(value + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ inline float from_ordered_bits(std::uint32_t ordered) {
  return float_of((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}

__device__ inline std::uint64_t candidate_key(float value, std::uint32_t index) {
  return static_cast<std::uint64_t>(ordered_bits(value)) << 32 | (~index & 0xffffffffu);
}
__device__ inline std::uint32_t index_of_key(std::uint64_t key) {
  return ~static_cast<std::uint32_t>(key);
}
__device__ inline float value_of_key(std::uint64_t key) {
  return from_ordered_bits(static_cast<std::uint32_t>(key >> 32));
}

}  // namespace tandem::gpu_kernels
