// SPDX-License-Identifier: Apache-2.0
//
// Each row of out gathers its experts' results, rank after rank: no two threads write one value.
#include "common/launch.cuh"
#include "common/quads.cuh"
#include "experts/experts.h"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 128;

// grid: [rows, parts of a row]
template <bool kAligned>
__global__ __launch_bounds__(kThreads) void add_results(ExpertSum job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  float* out = job.out + row * job.width;
  const std::int32_t* slots = job.slots + row * job.used;
  const float* shares = job.shares + row * job.used;
  const int step = static_cast<int>(gridDim.y * kThreads) * 4;
  for (int at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * 4; at < job.width;
       at += step) {
    Quad sums = load_quad<kAligned>(out, at, job.width);
#pragma unroll 4
    for (int rank = 0; rank < job.used; ++rank) {
      const float* result = job.results + static_cast<std::int64_t>(slots[rank]) * job.width;
      const Quad values = load_quad<kAligned>(result, at, job.width);
      const float share = shares[rank];
#pragma unroll
      for (int i = 0; i < 4; ++i) sums.v[i] += values.v[i] * share;
    }
    store_quad<kAligned>(out, at, job.width, sums);
  }
}

}  // namespace

cudaError_t sum_experts(const ExpertSum& job, cudaStream_t stream) {
  if (job.rows < 0 || job.rows > 0x7fffffff || job.width < 1 || job.used < 1) {
    return cudaErrorInvalidValue;
  }
  if (job.rows == 0) return cudaSuccess;
  const bool aligned = job.width % 4 == 0 && is_aligned(job.results) && is_aligned(job.out);
  const int columns = static_cast<int>(kThreads) * 4;
  const int parts = (job.width + columns - 1) / columns;
  const dim3 grid(static_cast<unsigned>(job.rows), static_cast<unsigned>(parts < 64 ? parts : 64));
  return launch(stream, grid, kThreads, aligned ? add_results<true> : add_results<false>, job);
}

}  // namespace tandem::gpu_kernels
