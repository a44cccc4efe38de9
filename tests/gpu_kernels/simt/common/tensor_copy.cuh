// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/tensor_copy.cuh in the SIMT build: copies are those of
// simt/barriers.h, maps those of simt/tensor_map.h.
//
// A box's target holds NaN from its start to its arrival.
#pragma once

#include <cstdint>

#include "common/bulk_copy.cuh"
#include "common/tensor_map.h"
#include "gpu_kernels/simt/tensor_map.h"
#include "gpu_kernels/simt/warpgroup.h"

namespace tandem::gpu_kernels {

inline void copy_box(void* shared, const TensorMap& map, int column, int row, Barrier& barrier) {
  const simt::MapOfBoxes& boxes = simt::boxes_of(&map);
  const std::uint32_t to = simt::shared_address(shared);
  if (to % 1024 != 0) simt::fail_copy("a box does not go to a multiple of 1,024");
  std::memset(shared, 0xff, simt::box_bytes(boxes));
  simt::start_copy(&barrier, simt::box_bytes(boxes),
                   [=] { simt::copy_swizzled_box(boxes, column, row, to); });
}

}  // namespace tandem::gpu_kernels
