// SPDX-License-Identifier: Apache-2.0
//
// Words shared by kernels and host threads: 64-bit, aligned, in pinned memory.
//
// A host thread that sees a word with acquire also sees all that the device thread wrote before
// raise_word(). A device thread that sees a word by look_at_word() also sees, after system_fence(),
// all that the host thread wrote before its store with release; its block sees it after a barrier.
// Source: PTX ISA, "Memory Consistency Model".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tandem::gpu_kernels {

__device__ inline std::uint64_t look_at_word(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ inline void raise_word(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ inline void system_fence() { __threadfence_system(); }

// Pauses between two reads of a word. A read crosses the link, which takes about a microsecond.
__device__ inline void pause_between_looks() { __nanosleep(100); }

}  // namespace tandem::gpu_kernels
