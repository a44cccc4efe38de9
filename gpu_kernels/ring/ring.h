// SPDX-License-Identifier: Apache-2.0
//
// Rows to a thread of the host and back, in the middle of a stream: post_rows() copies them to
// pinned memory and raises a word there; await_rows() waits for the thread's answer and copies its
// results to device memory.
//
// The word is (how many were posted, this one included) << 32 | tag. The count lies in device
// memory, so that equal launches do what the step at hand needs: the same graph serves every step.
// The answer to a post is the same word, of which the upper half is looked at; where `abandoned` is
// not 0, nothing is waited for, and from there on nothing is copied, either way: who has not
// answered may still use the slot. Results of a wait that was abandoned are undefined, and so is
// all that is computed from them: who abandons must not use them. A ring has one slot: between two
// posts there is an await. count: zero before the first. Graph-safe: one launch each, no workspace.
// Cost of N bytes: N over the link, in lines of 16 bytes a thread, four loads of each in flight; up
// to kMaxRingBlocks blocks of 256 threads with 16 KiB each, so that 128 KiB are on their way (some
// 2 us of link at 50 GB/s): enough for the latency of reads from the host. A wait is polled by one
// thread per block, a read over the link each time; blocks of await_rows() hold their processors
// meanwhile, and where a graphics driver limits the time of a kernel, that limit is for waits too.
// Errors: cudaErrorInvalidValue for more copies than kMaxRingCopies, and for addresses or sizes
// that are not multiples of 4.
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
