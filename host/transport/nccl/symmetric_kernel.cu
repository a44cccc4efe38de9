// SPDX-License-Identifier: Apache-2.0
//
// The kernel that moves one part of a round through symmetric windows, with NCCL's device API: a
// block per transfer, one launch. Blocks of all transfers run at the same time, because they wait
// for each other across ranks: there are at most twice as many as ranks. Source: NCCL 2.28,
// nccl_device/core.h; PTX ISA, "Memory Consistency Model".
#include <cuda_runtime.h>
#include <nccl_device.h>

#include "transport/nccl/symmetric_launch.h"

namespace tandem::transport::nccl {
namespace {

constexpr int kThreads = 512;

class DeviceBlock {
 public:
  __device__ DeviceBlock(ncclWindow_t window, const std::uint32_t* is_ended)
      : window_(window), is_ended_(is_ended) {}

  __device__ std::byte* memory(int rank, std::uint64_t offset) const {
    return static_cast<std::byte*>(ncclGetLsaPointer(window_, offset, rank));
  }

  __device__ bool wait(std::uint64_t offset, std::uint64_t value) {
    bool is_there = true;
    if (threadIdx.x == 0) {
      const void* const word = ncclGetLocalPointer(window_, offset);
      std::uint64_t now = 0;
      for (;;) {
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(now) : "l"(word) : "memory");
        if (now >= value) break;
        std::uint32_t ended = 0;
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
                     : "=r"(ended)
                     : "l"(is_ended_)
                     : "memory");
        if (ended != 0) {
          is_there = false;
          break;
        }
        __nanosleep(100);
      }
    }
    return __syncthreads_and(is_there) != 0;
  }

  __device__ void raise(int rank, std::uint64_t offset, std::uint64_t value) {
    __syncthreads();  // all threads have copied
    if (threadIdx.x != 0) return;
    __threadfence_system();
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(memory(rank, offset)), "l"(value)
                 : "memory");
  }

  // Both ends are aligned to 16 bytes; only the last bytes are not a multiple.
  __device__ void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    const std::uint64_t words = bytes / sizeof(uint4);
    for (std::uint64_t at = threadIdx.x; at < words; at += kThreads) {
      reinterpret_cast<uint4*>(to)[at] = reinterpret_cast<const uint4*>(from)[at];
    }
    for (std::uint64_t at = words * sizeof(uint4) + threadIdx.x; at < bytes; at += kThreads) {
      to[at] = from[at];
    }
  }

 private:
  ncclWindow_t window_;
  const std::uint32_t* is_ended_;
};

__global__ void __launch_bounds__(kThreads) move_through_windows(const SymmetricMove move) {
  DeviceBlock block(static_cast<ncclWindow_t>(move.window), move.is_ended);
  const int at = static_cast<int>(blockIdx.x);
  if (at < move.num_sends) {
    push(block, move.layout, move.sends[at], move.staging);
  } else {
    pull(block, move.layout, move.receives[at - move.num_sends], move.staging);
  }
}

}  // namespace

bool has_symmetric_kernel() { return true; }

cudaError_t launch_symmetric_move(const SymmetricMove& move, cudaStream_t stream) {
  const int blocks = move.num_sends + move.num_receives;
  if (blocks == 0) return cudaSuccess;
  move_through_windows<<<blocks, kThreads, 0, stream>>>(move);
  return cudaGetLastError();
}

}  // namespace tandem::transport::nccl
