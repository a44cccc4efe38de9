// SPDX-License-Identifier: Apache-2.0
//
// Bias, norm and rotation of one head by one warp, in place, and the layout of the launches.
//
// A lane rotates its own pairs; only the sum of squares is shared by shuffles. These shuffles also
// guarantee that every lane has read a value before it is overwritten.
#pragma once

#include "common/block_reduce.cuh"
#include "rope/rope.h"

namespace tandem::gpu_kernels {

inline constexpr unsigned kRopeThreads = 256, kHeadsPerBlock = kRopeThreads / 32;

// The head that a warp processes.
struct RopeUnit {
  std::int64_t row;
  int target, head;
  RopeTarget to;

  // row_heads: heads of all targets.
  __device__ RopeUnit(const Rope& job, int row_heads) {
    const std::int64_t unit =
        static_cast<std::int64_t>(blockIdx.x) * kHeadsPerBlock + threadIdx.x / 32u;
    row = unit / row_heads;
    head = static_cast<int>(unit % row_heads);
    target = 0;
    to = job.targets[0];
#pragma unroll
    for (int next = 1; next < kMaxRopeTargets; ++next) {
      if (target == next - 1 && next < job.num_targets && head >= to.heads) {
        head -= to.heads;
        target = next;
        to = job.targets[next];
      }
    }
  }

  __device__ float* x(const Rope& job) const {
    return to.x + row * to.row_stride + static_cast<std::int64_t>(head) * job.head_dim;
  }
};

// A head before its rotation.
struct HeadValues {
  const float* x;
  const float* bias;  // of this head
  const float* norm;
  float factor;  // factor of the norm

  __device__ float biased(int at) const { return bias != nullptr ? x[at] + bias[at] : x[at]; }
  __device__ float operator()(int at) const {
    const float value = biased(at);
    return norm != nullptr ? value * factor * norm[at] : value;
  }
};

// All lanes of the warp call it.
__device__ inline void rotate_head(const Rope& job, const RopeUnit& unit) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const int head_dim = job.head_dim;
  const RopeTarget& to = unit.to;
  float* x = unit.x(job);
  HeadValues values{x, to.bias != nullptr ? to.bias + unit.head * head_dim : nullptr, to.norm,
                    1.0f};
  if (to.norm != nullptr) {
    float sum = 0;
    for (int at = lane; at < head_dim; at += 32) {
      const float value = values.biased(at);
      sum += value * value;
    }
    sum = reduce_warp(sum, Sum());
    values.factor = 1.0f / sqrtf(sum / static_cast<float>(head_dim) + job.norm_epsilon);
  }
  const int pairs = to.rotates ? job.pairs : 0;
  const float* cos_sin = job.cos_sin + unit.row * 2 * job.pairs;
  for (int pair = lane; pair < pairs; pair += 32) {
    const int first = job.interleaved ? 2 * pair : pair;
    const int second = job.interleaved ? first + 1 : pair + pairs;
    const float a = values(first), b = values(second);
    const float c = cos_sin[pair], s = cos_sin[pairs + pair];
    x[first] = a * c - b * s;
    x[second] = a * s + b * c;
  }
  if (to.bias == nullptr && to.norm == nullptr) return;
  for (int at = 2 * pairs + lane; at < head_dim; at += 32) x[at] = values(at);
}

// A job with its strides filled in, and its launch; row_heads 0: not a valid job.
struct RopeLaunch {
  Rope job;
  int row_heads;
  unsigned blocks;  // 0: nothing to do
};

inline RopeLaunch plan_rope(const Rope& job) {
  constexpr int kMaxHeadDim = 1024;
  RopeLaunch plan{job, 0, 0};
  if (job.rows < 0 || job.head_dim < 1 || job.head_dim > kMaxHeadDim || job.pairs < 0 ||
      2 * job.pairs > job.head_dim || job.num_targets < 1 || job.num_targets > kMaxRopeTargets) {
    return plan;
  }
  std::int64_t row_heads = 0;
  for (int i = 0; i < job.num_targets; ++i) {
    RopeTarget& target = plan.job.targets[i];
    const std::int64_t width = static_cast<std::int64_t>(target.heads) * job.head_dim;
    if (target.row_stride == 0) target.row_stride = width;
    if (target.heads < 1 || target.row_stride < width) return plan;
    row_heads += target.heads;
  }
  const std::int64_t blocks = (job.rows * row_heads + kHeadsPerBlock - 1) / kHeadsPerBlock;
  if (row_heads > 0x7fffffff || blocks > 0x7fffffff) return plan;
  plan.row_heads = static_cast<int>(row_heads);
  plan.blocks = static_cast<unsigned>(blocks);
  return plan;
}

}  // namespace tandem::gpu_kernels
