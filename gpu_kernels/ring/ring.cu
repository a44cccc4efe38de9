// SPDX-License-Identifier: Apache-2.0
//
// post_rows() and await_rows(): all blocks copy; the last one to finish raises the word.
#include "ring/ring.h"

#include <cstdint>

#include "common/launch.cuh"
#include "common/system_words.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kAhead = 4;  // loads of a thread before its first store
constexpr std::uint64_t kBlockBytes = std::uint64_t{kThreads} * kAhead * sizeof(uint4);

template <typename Line>
__device__ void copy_lines(const RingCopy& copy) {
  const auto* from = static_cast<const Line*>(copy.from);
  auto* to = static_cast<Line*>(copy.to);
  const std::uint64_t lines = copy.bytes / sizeof(Line);
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; at + (kAhead - 1) * step < lines; at += kAhead * step) {
    Line held[kAhead];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) held[i] = from[at + i * step];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) to[at + i * step] = held[i];
  }
  for (; at < lines; at += step) to[at] = from[at];
}

__device__ void copy_all(const RingCopies& rows) {
  for (int i = 0; i < rows.count; ++i) {
    const RingCopy& copy = rows.copies[i];
    const auto bits = reinterpret_cast<std::uintptr_t>(copy.to) |
                      reinterpret_cast<std::uintptr_t>(copy.from) | copy.bytes;
    if (bits % sizeof(uint4) == 0) {
      copy_lines<uint4>(copy);
    } else {
      copy_lines<std::uint32_t>(copy);
    }
  }
}

__global__ __launch_bounds__(kThreads) void post(const __grid_constant__ RingPost job) {
  let_next_start();
  wait_for_previous();
  if (job.count[2] == 0) copy_all(job.rows);
  __syncthreads();
  if (threadIdx.x != 0) return;
  system_fence();
  if (atomicAdd(&job.count[1], 1u) != gridDim.x - 1) return;
  system_fence();  // the other blocks' rows come before the word
  job.count[1] = 0;
  const std::uint32_t count = job.count[0] + 1;
  job.count[0] = count;
  raise_word(job.posted, std::uint64_t{count} << 32 | job.tag);
}

__global__ __launch_bounds__(kThreads) void await(const __grid_constant__ RingAwait job) {
  let_next_start();  // its weights may come while this one waits
  wait_for_previous();
  int given_up = 0;
  if (threadIdx.x == 0) {
    const std::uint32_t count = *job.count;
    given_up = job.count[2] != 0 ? 1 : 0;
    while (given_up == 0) {
      const std::uint64_t answered = look_at_word(job.answered);
      const std::uint64_t abandoned = look_at_word(job.abandoned);
      if (answered >> 32 == count) break;
      given_up = abandoned != 0 ? 1 : 0;
      pause_between_looks();
    }
    if (given_up != 0) job.count[2] = 1;
    system_fence();
  }
  if (__syncthreads_or(given_up) == 0) copy_all(job.rows);
}

// Blocks for the copies; 0 if they are not what the header says.
unsigned blocks_for(const RingCopies& rows) {
  if (rows.count < 0 || rows.count > kMaxRingCopies) return 0;
  std::uint64_t bytes = 0;
  for (int i = 0; i < rows.count; ++i) {
    const RingCopy& copy = rows.copies[i];
    const auto bits = reinterpret_cast<std::uintptr_t>(copy.to) |
                      reinterpret_cast<std::uintptr_t>(copy.from) | copy.bytes;
    if (bits % sizeof(std::uint32_t) != 0) return 0;
    bytes += copy.bytes;
  }
  const std::uint64_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes;
  if (blocks > kMaxRingBlocks) return kMaxRingBlocks;
  return blocks > 0 ? static_cast<unsigned>(blocks) : 1;
}

}  // namespace

cudaError_t post_rows(const RingPost& job, cudaStream_t stream) {
  const unsigned blocks = blocks_for(job.rows);
  if (blocks == 0) return cudaErrorInvalidValue;
  return launch(stream, dim3(blocks), kThreads, post, job);
}

cudaError_t await_rows(const RingAwait& job, cudaStream_t stream) {
  const unsigned blocks = blocks_for(job.rows);
  if (blocks == 0) return cudaErrorInvalidValue;
  return launch(stream, dim3(blocks), kThreads, await, job);
}

}  // namespace tandem::gpu_kernels
