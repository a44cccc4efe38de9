// SPDX-License-Identifier: Apache-2.0
//
// Words that kernels and threads of the host show each other: 64-bit, aligned, in pinned memory.
//
// What a thread wrote before raise_word() is there for a host thread that sees the word with
// acquire; what a host thread wrote before it stored a word with release is there behind
// system_fence() for the thread that saw it by look_at_word(), and behind a barrier for its block.
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

// Between two looks: the one before has crossed the link, which took some microsecond.
__device__ inline void pause_between_looks() { __nanosleep(100); }

}  // namespace tandem::gpu_kernels
