// SPDX-License-Identifier: Apache-2.0
//
// Exclusive prefix sums over the threads of a block, by warp shuffles.
//
// All threads of the block call it with the same kThreads (a multiple of 32, at most 1024).
// `scratch`: [kThreads / 32 + 1] words of shared memory that nothing else uses until the second
// barrier inside has been passed; the function may be called again at once with the same scratch.
// Cost: two shuffles-trees and three barriers.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

__device__ inline std::uint32_t warp_inclusive_scan(std::uint32_t value) {
  const unsigned lane = threadIdx.x & 31u;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t below = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

// The sum of `value` over the threads before this one; *total receives the sum over all.
template <int kThreads>
__device__ std::uint32_t block_exclusive_scan(std::uint32_t value, std::uint32_t* scratch,
                                              std::uint32_t* total) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024);
  constexpr unsigned kWarps = kThreads / 32;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned warp = threadIdx.x / 32u;
  const std::uint32_t inclusive = warp_inclusive_scan(value);
  if (lane == 31) scratch[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    const std::uint32_t sum = lane < kWarps ? scratch[lane] : 0;
    const std::uint32_t sums = warp_inclusive_scan(sum);
    if (lane < kWarps) scratch[lane] = sums - sum;
    if (lane == 31) scratch[kWarps] = sums;
  }
  __syncthreads();
  const std::uint32_t before = scratch[warp] + inclusive - value;
  *total = scratch[kWarps];
  __syncthreads();
  return before;
}

}  // namespace tandem::gpu_kernels
