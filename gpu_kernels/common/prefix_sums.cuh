// SPDX-License-Identifier: Apache-2.0
//
// Exclusive prefix sums of an array by one block of kThreads, in place.
//
// All threads of the block call it. Cost: a read and a write of the array, a scan per kThreads
// sums.
#pragma once

#include <cstdint>

#include "common/block_scan.cuh"

namespace tandem::gpu_kernels {

// sums[i] becomes the sum of the `count` sums before it. Returns the total.
template <int kThreads>
__device__ std::uint32_t sum_in_place(std::uint32_t count, std::uint32_t* sums) {
  __shared__ std::uint32_t scratch[kThreads / 32 + 1];
  std::uint32_t carried = 0;
  for (std::uint32_t first = 0; first < count; first += kThreads) {
    const std::uint32_t at = first + threadIdx.x;
    std::uint32_t total;
    const std::uint32_t before =
        block_exclusive_scan<kThreads>(at < count ? sums[at] : 0, scratch, &total);
    if (at < count) sums[at] = carried + before;
    carried += total;
  }
  return carried;
}

}  // namespace tandem::gpu_kernels
