// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies from global to shared memory (cp.async, sm_80 and later), 16 bytes each, past
// the L1 cache.
//
// A thread starts copies and closes a group of them with commit_copies(). wait_copies<n>() returns
// when all of its groups but the last n are done. Then this thread sees them, and other threads see
// them after a barrier. Groups may be empty. A thread waits for every group before it ends. Both
// addresses are aligned to 16. If `valid` is false, nothing is read and zeros are written. Source:
// PTX ISA, "Data Movement: Asynchronous copy".
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

__device__ inline void copy_async_16(void* shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(__cvta_generic_to_global(global)), "r"(valid ? 16 : 0)
               : "memory");
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace tandem::gpu_kernels
