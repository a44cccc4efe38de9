// SPDX-License-Identifier: Apache-2.0
//
// Passes rows to a host thread and back within a stream. post_rows() copies them to pinned memory
// and raises a word there; await_rows() waits for the thread's answer and copies its results to
// device memory.
//
// The word is (number of posts, this one included) << 32 | tag. The count is in device memory, so
// equal launches serve every step: one graph for all. The answer to a post is the same word; its
// upper half is compared. If `abandoned` is not 0, nothing is waited for or copied from then on,
// because the other side may still use the slot; results of an abandoned wait and all that is
// computed from them are undefined. A ring has one slot: between two posts there is an await.
// count: zero before the first. Graph-safe: one launch each, no workspace. Cost of N bytes: N over
// the link, in lines of 16 bytes per thread, four loads in flight; up to kMaxRingBlocks blocks of
// 256 threads with 16 KiB each, so 128 KiB are in flight (some 2 us of a 50 GB/s link), which
// covers the latency of reads from the host. One thread per block polls, a read over the link each
// time; blocks of await_rows() occupy their processors meanwhile, and a graphics driver's limit on
// kernel time applies. Errors: cudaErrorInvalidValue for more copies than kMaxRingCopies, and for
// addresses or sizes that are not multiples of 4.
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
  std::uint32_t* count = nullptr;   // [3]: posts so far; blocks that have arrived; abandoned
};

struct RingAwait {
  RingCopies rows;
  const std::uint64_t* answered = nullptr;   // pinned
  const std::uint64_t* abandoned = nullptr;  // pinned
  std::uint32_t* count = nullptr;            // the post's
};

cudaError_t post_rows(const RingPost& job, cudaStream_t stream);
cudaError_t await_rows(const RingAwait& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
