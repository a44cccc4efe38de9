// SPDX-License-Identifier: Apache-2.0
//
// A warp per head of a row, eight heads per block.
#include "rope/rope.h"

#include "common/launch.cuh"
#include "rope/head_rotation.cuh"

namespace tandem::gpu_kernels {
namespace {

__global__ __launch_bounds__(kRopeThreads) void rotate_heads(const __grid_constant__ Rope job,
                                                             int row_heads) {
  let_next_start();
  wait_for_previous();
  const RopeUnit unit(job, row_heads);
  if (unit.row < job.rows) rotate_head(job, unit);
}

}  // namespace

cudaError_t rope(const Rope& job, cudaStream_t stream) {
  const RopeLaunch plan = plan_rope(job);
  if (plan.row_heads == 0) return cudaErrorInvalidValue;
  if (plan.blocks == 0) return cudaSuccess;
  return launch(stream, plan.blocks, kRopeThreads, rotate_heads, plan.job, plan.row_heads);
}

}  // namespace tandem::gpu_kernels
