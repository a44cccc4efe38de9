// SPDX-License-Identifier: Apache-2.0
//
// A warp per head of a row, eight heads per block.
//
// A lane keeps to its own pairs, so nothing but the sum of squares crosses lanes; the shuffles of
// that sum also stand between the last read of a value by another lane and its writing.
#include "rope/rope.h"

#include "common/block_reduce.cuh"
#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 256, kHeadsPerBlock = kThreads / 32;
constexpr int kMaxHeadDim = 1024;

// A head before its rotation.
struct HeadValues {
  const float* x;
  const float* bias;  // of this head
  const float* norm;
  float factor;  // of the norm

  __device__ float biased(int at) const { return bias != nullptr ? x[at] + bias[at] : x[at]; }
  __device__ float operator()(int at) const {
    const float value = biased(at);
    return norm != nullptr ? value * factor * norm[at] : value;
  }
};

__global__ __launch_bounds__(kThreads) void rotate_heads(Rope job, int row_heads) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const std::int64_t unit =
      static_cast<std::int64_t>(blockIdx.x) * kHeadsPerBlock + threadIdx.x / 32u;
  const std::int64_t row = unit / row_heads;
  if (row >= job.rows) return;
  int head = static_cast<int>(unit % row_heads);
  RopeTarget target = job.targets[0];
#pragma unroll
  for (int next = 1; next < kMaxRopeTargets; ++next) {
    if (next < job.num_targets && head >= target.heads) {
      head -= target.heads;
      target = job.targets[next];
    }
  }
  const int head_dim = job.head_dim;
  float* x = target.x + row * target.row_stride + static_cast<std::int64_t>(head) * head_dim;
  HeadValues values{x, target.bias != nullptr ? target.bias + head * head_dim : nullptr,
                    target.norm, 1.0f};
  if (target.norm != nullptr) {
    float sum = 0;
    for (int at = lane; at < head_dim; at += 32) {
      const float value = values.biased(at);
      sum += value * value;
    }
    sum = reduce_warp(sum, Sum());
    values.factor = 1.0f / sqrtf(sum / static_cast<float>(head_dim) + job.norm_epsilon);
  }
  const int pairs = target.rotates ? job.pairs : 0;
  const float* cos_sin = job.cos_sin + row * 2 * job.pairs;
  for (int pair = lane; pair < pairs; pair += 32) {
    const int first = job.interleaved ? 2 * pair : pair;
    const int second = job.interleaved ? first + 1 : pair + pairs;
    const float a = values(first), b = values(second);
    const float c = cos_sin[pair], s = cos_sin[pairs + pair];
    x[first] = a * c - b * s;
    x[second] = a * s + b * c;
  }
  if (target.bias == nullptr && target.norm == nullptr) return;
  for (int at = 2 * pairs + lane; at < head_dim; at += 32) x[at] = values(at);
}

}  // namespace

cudaError_t rope(const Rope& job, cudaStream_t stream) {
  if (job.rows < 0 || job.head_dim < 1 || job.head_dim > kMaxHeadDim || job.pairs < 0 ||
      2 * job.pairs > job.head_dim || job.num_targets < 0 || job.num_targets > kMaxRopeTargets) {
    return cudaErrorInvalidValue;
  }
  Rope given = job;
  std::int64_t row_heads = 0;
  for (int i = 0; i < job.num_targets; ++i) {
    RopeTarget& target = given.targets[i];
    const std::int64_t width = static_cast<std::int64_t>(target.heads) * job.head_dim;
    if (target.row_stride == 0) target.row_stride = width;
    if (target.heads < 1 || target.row_stride < width) return cudaErrorInvalidValue;
    row_heads += target.heads;
  }
  if (job.rows == 0 || row_heads == 0) return cudaSuccess;
  const std::int64_t blocks = (job.rows * row_heads + kHeadsPerBlock - 1) / kHeadsPerBlock;
  if (row_heads > 0x7fffffff || blocks > 0x7fffffff) return cudaErrorInvalidValue;
  return launch(stream, static_cast<unsigned>(blocks), kThreads, rotate_heads, given,
                static_cast<int>(row_heads));
}

}  // namespace tandem::gpu_kernels
