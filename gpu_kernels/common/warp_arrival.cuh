// SPDX-License-Identifier: Apache-2.0
//
// A warp's arrival at a barrier in shared memory: one for its 32 threads.
//
// All earlier reads and writes of these threads come before the arrival. All lanes call it
// together, so a phase counts warps. Source: PTX ISA, "Parallel Synchronization: mbarrier".
#pragma once

#include "common/bulk_copy.cuh"

namespace tandem::gpu_kernels {

__device__ inline void arrive_warp(Barrier& barrier) {
  __syncwarp();
  if (threadIdx.x % 32u == 0) arrive_barrier(barrier);
}

}  // namespace tandem::gpu_kernels
