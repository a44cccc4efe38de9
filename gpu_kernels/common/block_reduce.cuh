// SPDX-License-Identifier: Apache-2.0
//
// Reductions over the lanes of a warp and the threads of a block, in a fixed order.
//
// Every thread gets the same bits: `combine` commutes, and the tree depends on the number of
// threads only. All threads of the warp or block call it; blockDim.x is a multiple of 32, at most
// 1,024. `scratch`: [32] values of shared memory, free again when the function returns.
// Cost: five or ten shuffles; a block two barriers.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {

template <typename T, typename Combine>
__device__ T reduce_warp(T value, const Combine& combine) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

// `nothing` is the neutral value: combine(x, nothing) is x.
template <typename T, typename Combine>
__device__ T reduce_block(T value, T nothing, T* scratch, const Combine& combine) {
  const unsigned lane = threadIdx.x & 31u;
  value = reduce_warp(value, combine);
  if (lane == 0) scratch[threadIdx.x / 32u] = value;
  __syncthreads();
  value = reduce_warp(lane < blockDim.x / 32u ? scratch[lane] : nothing, combine);
  __syncthreads();
  return value;
}

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Largest {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

}  // namespace tandem::gpu_kernels
