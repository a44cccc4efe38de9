// SPDX-License-Identifier: Apache-2.0
//
// Kernels of two warpgroups around the products of common/wgmma.cuh, for their test.
//
// All matrices are row-major in device memory. Compute capability 9.0 only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu_kernels/common/mma_probe.h"

namespace tandem::gpu_kernels {

struct GroupProbe {
  ProbeType type = ProbeType::kHalf;
  int columns = 128;  // 64 or 128; 128 where a is not in registers
  bool a_in_registers = false;
  bool b_by_columns = false;  // b lies in shared memory as [64, columns], not as its transpose
  bool adds = true;           // else c is overwritten; a in registers always adds
};

// c [128, columns] (+)= a [128, 64] b [64, columns]; c f32, the others of 16 bits.
cudaError_t probe_group_product(const GroupProbe& probe, const std::uint16_t* a,
                                const std::uint16_t* b, float* c);

}  // namespace tandem::gpu_kernels
