// SPDX-License-Identifier: Apache-2.0
//
// A block per expert counts the choices of experts before its own, then gives a slot to each of its
// own, in the order of the choices.
//
// Every block reads all choices twice, from the cache. For the at most some ten thousand choices of
// a step that costs less than the launches needed to share the counts.
#include "common/block_reduce.cuh"
#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "experts/experts.h"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;  // neighbouring choices of a thread

__global__ __launch_bounds__(kThreads) void place_choices(ExpertGroups job) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t sums[32];
  __shared__ std::uint32_t scratch[kThreads / 32 + 1];
  const int count = static_cast<int>(job.rows * job.used);
  const auto expert = static_cast<std::int32_t>(blockIdx.x);
  std::uint32_t before = 0;
  for (int at = static_cast<int>(threadIdx.x); at < count; at += kThreads) {
    before += job.chosen[at] < expert ? 1u : 0u;
  }
  std::uint32_t slot = reduce_block(before, 0u, sums, Sum());
  if (threadIdx.x == 0) job.begins[expert] = static_cast<std::int32_t>(slot);

  for (int base = 0; base < count; base += kThreads * kItems) {
    const int first = base + static_cast<int>(threadIdx.x) * kItems;
    unsigned mine = 0;  // bit i: choice first + i
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const int at = first + item;
      if (at < count && job.chosen[at] == expert) mine |= 1u << item;
    }
    std::uint32_t all;
    std::uint32_t own = slot + block_exclusive_scan<kThreads>(
                                   static_cast<std::uint32_t>(__popc(mine)), scratch, &all);
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((mine >> item & 1u) == 0) continue;
      job.slots[first + item] = static_cast<std::int32_t>(own);
      job.slot_rows[own] = (first + item) / job.used;
      ++own;
    }
    slot += all;
  }
  if (threadIdx.x == 0 && expert + 1 == job.experts) {
    job.begins[job.experts] = static_cast<std::int32_t>(slot);
  }
}

}  // namespace

cudaError_t group_experts(const ExpertGroups& job, cudaStream_t stream) {
  if (job.rows < 0 || job.experts < 1 || job.experts > kMaxExperts || job.used < 1 ||
      job.used > job.experts || job.rows > 0x7fff0000 / job.used) {
    return cudaErrorInvalidValue;
  }
  return launch(stream, static_cast<unsigned>(job.experts), kThreads, place_choices, job);
}

}  // namespace tandem::gpu_kernels
