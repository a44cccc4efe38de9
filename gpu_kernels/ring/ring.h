// SPDX-License-Identifier: Apache-2.0
//
// Passes rows to a host thread and back within a stream. post_rows() copies rows to pinned memory
// and then writes a word there. await_rows() waits for the thread's answer and copies its results
// to device memory.
//
// The word is (number of posts, this one included) << 32 | tag. The answer to a post is the same
// word; only the upper half is compared. The count is in device memory, so one graph serves every
// step. A ring has one slot: each post is followed by its await before the next post. Graph-safe:
// one launch each, no workspace. Errors: cudaErrorInvalidValue for more copies than kMaxRingCopies,
// and for addresses or sizes that are not multiples of 4.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxRingCopies = 6;
inline constexpr int kMaxRingBlocks = 8;

struct RingCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
};
struct RingCopies {
  int count = 0;
  RingCopy copies[kMaxRingCopies];
};

struct RingPost {
  RingCopies rows;
  std::uint32_t tag = 0;
  std::uint64_t* posted = nullptr;  // pinned
  // [3]: the number of posts so far, the number of arrived blocks, and whether the ring is
  // abandoned. All are zero before the first post.
  std::uint32_t* count = nullptr;
};

// If *abandoned is not 0, this and all later launches neither wait nor copy, because the host may
// still use the slot. The results of an abandoned wait, and all that is computed from them, are
// undefined.
struct RingAwait {
  RingCopies rows;
  const std::uint64_t* answered = nullptr;   // pinned
  const std::uint64_t* abandoned = nullptr;  // pinned
  std::uint32_t* count = nullptr;            // the count of RingPost
};

// Cost of N bytes: N over the link, in lines of 16 bytes per thread, four loads in flight. Up to
// kMaxRingBlocks blocks of 256 threads have 16 KiB each in flight, 128 KiB in all (some 2 us of a
// 50 GB/s link), which covers the latency of reads from the host.
cudaError_t post_rows(const RingPost& job, cudaStream_t stream);
// One thread per block polls, with one read over the link per poll. The blocks occupy their
// multiprocessors meanwhile. A graphics driver's limit on kernel time applies.
cudaError_t await_rows(const RingAwait& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
