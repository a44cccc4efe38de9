// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/system_words.cuh in the SIMT build. The other side is a host thread,
// like the interpreter's own: a wait yields the processor to it.
#pragma once

#include <cstdint>
#include <thread>

namespace tandem::gpu_kernels {

inline std::uint64_t look_at_word(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

inline void raise_word(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

inline void system_fence() {}

inline void pause_between_looks() { std::this_thread::yield(); }

}  // namespace tandem::gpu_kernels
