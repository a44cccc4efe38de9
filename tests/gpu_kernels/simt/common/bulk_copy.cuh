// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/bulk_copy.cuh in the SIMT build: barriers and copies are those of
// simt/barriers.h.
//
// A copy's target holds NaN from its start to its arrival. Proxies are not modelled:
// order_stores_before_copies() does nothing.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu_kernels/simt/barriers.h"
#include "gpu_kernels/simt/simt.h"

namespace tandem::gpu_kernels {

struct alignas(8) Barrier {
  std::uint64_t state;
};

inline void init_barrier(Barrier& barrier, unsigned count) { simt::init_barrier(&barrier, count); }
inline void publish_barriers() { simt::publish_barriers(); }
inline void order_stores_before_copies() {}
inline void arrive_barrier(Barrier& barrier) { simt::arrive(&barrier, 0); }
inline void arrive_expecting(Barrier& barrier, unsigned bytes) { simt::arrive(&barrier, bytes); }
inline void wait_barrier(Barrier& barrier, unsigned parity) { simt::wait_phase(&barrier, parity); }

inline void copy_bulk(void* shared, const void* global, unsigned bytes, Barrier& barrier) {
  const auto aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  if (!aligned(shared) || !aligned(global)) simt::fail_copy("a copy's address is not aligned");
  if (bytes == 0 || bytes % 16 != 0) simt::fail_copy("a copy's bytes are no multiple of 16");
  std::memset(shared, 0xff, bytes);
  simt::start_copy(&barrier, bytes, [=] { std::memcpy(shared, global, bytes); });
}

template <int kBarrier, int kThreads>
void sync_warps() {
  static_assert(kBarrier > 0 && kBarrier < 16 && kThreads % 32 == 0);
  simt::named_barrier(kBarrier, kThreads);
}

}  // namespace tandem::gpu_kernels
