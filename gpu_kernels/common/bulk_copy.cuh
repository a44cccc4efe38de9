// SPDX-License-Identifier: Apache-2.0
//
// Copies of runs of bytes from global to shared memory by the copy engine (cp.async.bulk, sm_90),
// barriers in shared memory that count their bytes (mbarrier), and barriers of some of a block's
// warps.
//
// A Barrier goes through phases, counted from 0: a phase ends when `count` arrivals and all bytes
// that they expect have come; wait_barrier() returns when the phase of that parity has ended, which
// for parity 1 of a new barrier is at once. Who waits for a phase sees what its copies have written
// and what its arriving threads had written. No thread may be two phases behind.
//   init_barrier(): one thread, then publish_barriers() of that thread and a barrier of the block
//   arrive_expecting(): an arrival, and bytes that the phase waits for; before their copies start
//   copy_bulk(): one thread copies; addresses and bytes are multiples of 16
//   order_stores_before_copies(): copies that the thread starts later, or others that it lets know
//     by a barrier, come behind its ordinary stores, to the same memory or of what they read
//   sync_warps(): all threads of `threads / 32` warps, barrier 1..15 of the block
// Code for less than compute capability 9.0 ends the kernel with an error.
// Source: PTX ISA, "Data Movement: Bulk copy", "Parallel Synchronization: mbarrier", "barrier".
#pragma once

#include <cstdint>

#include "common/shared_address.cuh"

namespace tandem::gpu_kernels {

struct alignas(8) Barrier {
  std::uint64_t state;
};

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

__device__ inline void order_stores_before_copies() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

__device__ inline void arrive_barrier(Barrier& barrier) {
  asm volatile(
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
      : "memory");
}

__device__ inline void arrive_expecting(Barrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

// try_wait() lets the thread rest for a while that the hardware chooses.
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

__device__ inline void copy_bulk(void* shared, const void* global, unsigned bytes,
                                 Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

#endif

template <int kBarrier, int kThreads>
__device__ void sync_warps() {
  static_assert(kBarrier > 0 && kBarrier < 16 && kThreads % 32 == 0);
  asm volatile("barrier.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

}  // namespace tandem::gpu_kernels
