// SPDX-License-Identifier: Apache-2.0
//
// Where in its block's shared memory a value stands, as instructions of PTX take it.
//
// The argument is an address of shared memory. Threads: pure. Cost: one instruction. Source: PTX
// ISA, "State Spaces: Shared".
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

}  // namespace tandem::gpu_kernels
