// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies from global to shared memory by the copy engine (cp.async.bulk, sm_90), barriers in
// shared memory that count their bytes (mbarrier), and barriers of some of a block's warps.
//
// A Barrier has phases, counted from 0. A phase ends when `count` arrivals and all bytes that they
// expect have come. A thread that waits for a phase sees the bytes of its copies, and all that the
// arriving threads wrote before. No thread may be two phases late. Code for less than compute
// capability 9.0 ends the kernel with an error. Source: PTX ISA, "Data Movement: Bulk copy",
// "Parallel Synchronization: mbarrier", "barrier".
#pragma once

#include <cstdint>

#include "common/shared_address.cuh"

namespace tandem::gpu_kernels {

struct alignas(8) Barrier {
  std::uint64_t state;
};

// One thread calls it, then publish_barriers(), then all threads meet at a barrier of the block.
__device__ inline void init_barrier(Barrier& barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(count)
               : "memory");
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900

__device__ inline void publish_barriers() { __trap(); }
__device__ inline void order_stores_before_copies() { __trap(); }
__device__ inline void arrive_barrier(Barrier&) { __trap(); }
__device__ inline void arrive_expecting(Barrier&, unsigned) { __trap(); }
__device__ inline void wait_barrier(Barrier&, unsigned) { __trap(); }
__device__ inline void copy_bulk(void*, const void*, unsigned, Barrier&) { __trap(); }

#else

__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Copies that this thread starts later come after its earlier ordinary stores. So do copies of
// threads that it synchronises with by a barrier. This holds for the same memory and for what the
// copies read.
__device__ inline void order_stores_before_copies() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

__device__ inline void arrive_barrier(Barrier& barrier) {
  asm volatile(
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
      : "memory");
}

// Arrives, and adds bytes that the phase waits for. Call it before the copies start.
__device__ inline void arrive_expecting(Barrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

// Returns when the phase of this parity has ended; for parity 1 of a new barrier at once.
// try_wait() suspends the thread for a time that the hardware chooses.
__device__ inline void wait_barrier(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// One thread copies. Addresses and bytes are multiples of 16.
__device__ inline void copy_bulk(void* shared, const void* global, unsigned bytes,
                                 Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

#endif

// All threads of kThreads / 32 warps call it. kBarrier: 1..15 of the block.
template <int kBarrier, int kThreads>
__device__ void sync_warps() {
  static_assert(kBarrier > 0 && kBarrier < 16 && kThreads % 32 == 0);
  asm volatile("barrier.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

}  // namespace tandem::gpu_kernels
