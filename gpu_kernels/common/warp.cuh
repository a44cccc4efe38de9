// SPDX-License-Identifier: Apache-2.0
//
// Reductions over the lanes of a warp by butterfly shuffles: every lane gets the result.
//
// All 32 lanes call a function together. kFirst and kLast bound the distances: <1, 16> is the whole
// warp,
// <4, 16> the eight lanes that agree in lane % 4, <1, 2> those that agree in lane / 4. Numerics:
// the order of additions is the same for every lane and run; a maximum ignores NaN.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr unsigned kAllLanes = 0xffffffffu;

template <int kFirst = 1, int kLast = 16>
__device__ float warp_sum(float value) {
#pragma unroll
  for (int distance = kFirst; distance <= kLast; distance *= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

template <int kFirst = 1, int kLast = 16>
__device__ float warp_max(float value) {
#pragma unroll
  for (int distance = kFirst; distance <= kLast; distance *= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

}  // namespace tandem::gpu_kernels
