// SPDX-License-Identifier: Apache-2.0
//
// The warp that rotated a head of k or took one of v reads it back in the order of stored rows. The
// barrier of the warp makes all lanes' writes visible to it.
#include "rope/rope_append.h"

#include "common/launch.cuh"
#include "kv_cache/kv_rounding.cuh"
#include "rope/head_rotation.cuh"

namespace tandem::gpu_kernels {
namespace {

// width: values of a row of the pool.
template <KvType kType>
__global__ __launch_bounds__(kRopeThreads) void rotate_and_append(
    const __grid_constant__ RopeAppend job, int row_heads, int width) {
  let_next_start();
  wait_for_previous();
  const Rope& rotation = job.rope;
  const RopeUnit unit(rotation, row_heads);
  if (unit.row >= rotation.rows) return;
  rotate_head(rotation, unit);
  const bool is_v = unit.target == job.v_target;
  if (!is_v && unit.target != job.k_target) return;
  const KvPlace place = job.places[unit.row];
  if (place.page == kNoPage) return;
  __syncwarp();
  const float* x = unit.x(rotation);
  const int lane = static_cast<int>(threadIdx.x & 31u);
  float values[kRowQuads][4];
#pragma unroll
  for (int quad = 0; quad < kRowQuads; ++quad) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = (quad * 32 + lane) * 4 + i;
      values[quad][i] = at < rotation.head_dim ? x[at] : 0.0f;
    }
  }
  const std::size_t row =
      kv_row(job.pool, job.layer, place.page, is_v, unit.head, static_cast<int>(place.token));
  store_row<kType>(values, width,
                   static_cast<unsigned char*>(job.pool.values) +
                       row * static_cast<unsigned>(width * value_bytes_of(kType)),
                   job.pool.scales + row);
}

bool is_target(const RopeAppend& job, int index) {
  return index >= 0 && index < job.rope.num_targets &&
         job.rope.targets[index].heads == job.pool.kv_heads;
}

}  // namespace

cudaError_t rope_append(const RopeAppend& job, cudaStream_t stream) {
  RopeAppend planned = job;
  const RopeLaunch plan = plan_rope(job.rope);
  planned.rope = plan.job;
  if (plan.row_heads == 0 || !is_valid(job.pool) || job.layer < 0 ||
      job.layer >= job.pool.num_layers || job.pool.head_dim != job.rope.head_dim ||
      !is_target(job, job.k_target) || !is_target(job, job.v_target) ||
      job.k_target == job.v_target) {
    return cudaErrorInvalidValue;
  }
  if (plan.blocks == 0) return cudaSuccess;
  const auto start = [&](auto kernel) {
    return launch(stream, plan.blocks, kRopeThreads, kernel, planned, plan.row_heads,
                  kv_row_values(job.pool.head_dim));
  };
  switch (job.pool.type) {
    case KvType::kF16:
      return start(rotate_and_append<KvType::kF16>);
    case KvType::kBF16:
      return start(rotate_and_append<KvType::kBF16>);
    case KvType::kE4M3:
      return start(rotate_and_append<KvType::kE4M3>);
    default:
      return start(rotate_and_append<KvType::kI8>);
  }
}

}  // namespace tandem::gpu_kernels
