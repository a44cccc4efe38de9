// SPDX-License-Identifier: Apache-2.0
//
// A warp per row of router logits; a lane holds every 32nd of them in registers.
//
// A rank is one pass of the warp: each lane's best that is not taken, then the best of the lanes,
// by logit and then by index.
#include "common/block_reduce.cuh"
#include "common/floats.h"
#include "common/launch.cuh"
#include "common/ordered_bits.cuh"
#include "experts/experts.h"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 128, kRowsPerBlock = kThreads / 32;

// kHeld: logits per lane, experts <= 32 * kHeld.
template <int kHeld>
__global__ __launch_bounds__(kThreads) void choose(ExpertChoice job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / 32u;
  if (row >= job.rows) return;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const float lowest = float_of(0xff800000u);
  float logits[kHeld];
  float most = lowest;
  bool has_nan = false;
#pragma unroll
  for (int item = 0; item < kHeld; ++item) {
    const int expert = item * 32 + lane;
    const float logit = expert < job.experts ? job.router[row * job.experts + expert] : lowest;
    has_nan = has_nan || logit != logit;
    logits[item] = logit != logit ? lowest : logit;
    most = Largest()(most, logits[item]);
  }
  most = reduce_warp(most, Largest());
  has_nan = __ballot_sync(0xffffffffu, has_nan) != 0;
  float sum = 0;
#pragma unroll
  for (int item = 0; item < kHeld; ++item) {
    if (item * 32 + lane < job.experts) sum += expf(logits[item] - most);
  }
  sum = has_nan ? float_of(0x7fc00000u) : reduce_warp(sum, Sum());

  unsigned taken = 0;  // of this lane's logits
  float chosen_sum = 0;
  for (int rank = 0; rank < job.used; ++rank) {
    std::uint64_t best = 0;
#pragma unroll
    for (int item = 0; item < kHeld; ++item) {
      const int expert = item * 32 + lane;
      if (expert >= job.experts || (taken >> item & 1u) != 0) continue;
      best = Largest()(best, candidate_key(logits[item], static_cast<std::uint32_t>(expert)));
    }
    best = reduce_warp(best, Largest());
    const auto expert = static_cast<int>(index_of_key(best));
    if (expert % 32 == lane) taken |= 1u << (expert / 32);
    const float share = expf(value_of_key(best) - most) / sum;
    chosen_sum += share;
    if (lane == 0) {
      job.chosen[row * job.used + rank] = expert;
      job.shares[row * job.used + rank] = share;
    }
  }
  if (!job.normalise) return;
  __syncwarp();
  for (int rank = lane; rank < job.used; rank += 32)
    job.shares[row * job.used + rank] /= chosen_sum;
}

}  // namespace

cudaError_t choose_experts(const ExpertChoice& job, cudaStream_t stream) {
  if (job.rows < 0 || job.experts < 1 || job.experts > kMaxExperts || job.used < 1 ||
      job.used > job.experts) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t blocks = (job.rows + kRowsPerBlock - 1) / kRowsPerBlock;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const auto with = [&](auto kernel) {
    return launch(stream, static_cast<unsigned>(blocks), kThreads, kernel, job);
  };
  if (job.experts <= 32) return with(choose<1>);
  if (job.experts <= 64) return with(choose<2>);
  if (job.experts <= 128) return with(choose<4>);
  if (job.experts <= 256) return with(choose<8>);
  return job.experts <= 512 ? with(choose<16>) : with(choose<32>);
}

}  // namespace tandem::gpu_kernels
