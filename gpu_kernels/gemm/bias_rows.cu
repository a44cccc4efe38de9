// SPDX-License-Identifier: Apache-2.0
//
// A thread takes one column of up to eight rows, so the bias is read once for them.
#include "gemm/bias_rows.h"

#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256, kRows = 8;

// grid: [parts of the width, groups of rows]
__global__ __launch_bounds__(kThreads) void add(BiasRows job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= job.width) return;
  const float bias = job.bias[column];
  for (std::int64_t group = blockIdx.y; group * kRows < job.rows; group += gridDim.y) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = group * kRows + i;
      if (row >= job.rows) break;
      float* out = job.out + row * job.stride + column;
      *out = job.accumulate ? *out + bias : bias;
    }
  }
}

}  // namespace

cudaError_t bias_rows(const BiasRows& job, cudaStream_t stream) {
  if (job.rows < 0 || job.width < 0 || job.stride < job.width || job.width > 0x7fffffff) {
    return cudaErrorInvalidValue;
  }
  if (job.rows == 0 || job.width == 0) return cudaSuccess;
  const std::int64_t groups = (job.rows + kRows - 1) / kRows;
  const dim3 grid(static_cast<unsigned>((job.width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(groups < 65535 ? groups : 65535));
  return launch(stream, grid, kThreads, add, job);
}

}  // namespace tandem::gpu_kernels
