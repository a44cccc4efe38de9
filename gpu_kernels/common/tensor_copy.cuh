// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes of a matrix from global into shared memory in the layout of wgmma.cuh's operands
// (cp.async.bulk.tensor, sm_90).
//
// One thread copies a box: 64 columns of as many rows as the map says, to rows of 128 bytes,
// swizzled (swizzled_offset()), from a multiple of 1,024 on. Rows outside the matrix become zeros.
// The barrier of the copy counts the box's bytes. Threads that have waited for it see the values,
// and so do their products of warpgroups. The map is the kernel's parameter, `const
// __grid_constant__`. Source: PTX ISA, "Data Movement: Tensor copy".
#pragma once

#include <cstdint>

#include "common/bulk_copy.cuh"
#include "common/shared_address.cuh"
#include "common/tensor_map.h"

namespace tandem::gpu_kernels {

__device__ inline void copy_box(void* shared, const TensorMap& map, int column, int row,
                                Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(&barrier))
      : "memory");
}

}  // namespace tandem::gpu_kernels
