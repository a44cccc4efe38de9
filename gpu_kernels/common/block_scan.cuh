// SPDX-License-Identifier: Apache-2.0
//
// Exclusive prefix sums over the threads of a block, by warp shuffles, of 32 or 64-bit words.
//
// All threads of the block call it with the same kThreads (a multiple of 32, at most 1024).
// `scratch`: [kThreads / 32 + 1] words of shared memory, reserved until the second barrier inside;
// the next call may use it at once. Cost: two shuffle trees and three barriers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tandem::gpu_kernels {

template <typename T>
__device__ T warp_inclusive_scan(T value) {
  const unsigned lane = threadIdx.x & 31u;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T below = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

// The sum of `value` over the threads before this one; *total receives the sum over all.
template <int kThreads, typename T>
__device__ T block_exclusive_scan(std::type_identity_t<T> value, T* scratch, T* total) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024);
  constexpr unsigned kWarps = kThreads / 32;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned warp = threadIdx.x / 32u;
  const T inclusive = warp_inclusive_scan(value);
  if (lane == 31) scratch[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    const T sum = lane < kWarps ? scratch[lane] : T{0};
    const T sums = warp_inclusive_scan(sum);
    if (lane < kWarps) scratch[lane] = sums - sum;
    if (lane == 31) scratch[kWarps] = sums;
  }
  __syncthreads();
  const T before = scratch[warp] + inclusive - value;
  *total = scratch[kWarps];
  __syncthreads();
  return before;
}

}  // namespace tandem::gpu_kernels
