// SPDX-License-Identifier: Apache-2.0
//
// The address of a value in its block's shared memory, as PTX instructions take it.
//
// The argument points to shared memory. Threads: any; pure functions. Cost: one instruction.
// Source: PTX ISA, "State Spaces: Shared".
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

}  // namespace tandem::gpu_kernels
