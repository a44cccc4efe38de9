// SPDX-License-Identifier: Apache-2.0
//
// decode_attention(): the kernels of the pool's type, then the reduction of split groups, a warp
// per query head.
#include "attention/decode.h"

#include <algorithm>

#include "attention/decode_launch.h"
#include "attention/decode_shapes.h"
#include "common/launch.cuh"
#include "common/quads.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kWarps = 4;

// Row r of a reduction. Lanes take four values each of 32 quads in turns, and the weights of 32
// partials at a time: one exponential for each, handed round by shuffles. All lanes call it.
__device__ void reduce_row(const DecodeLaunch& job, const DecodeReduction& reduction, int r,
                           int width) {
  const int lane = static_cast<int>(threadIdx.x & 31u), num = reduction.num_partials;
  const std::size_t first = static_cast<std::size_t>(reduction.first_partial) * job.item_rows + r;
  const auto lse_of = [&](int partial) {
    return job.partial_lse[first + static_cast<std::size_t>(partial) * job.item_rows];
  };
  float peak = __uint_as_float(0xff800000u);
  for (int i = lane; i < num; i += 32) peak = fmaxf(peak, lse_of(i));
  peak = warp_max(peak);
  const float zero = peak == __uint_as_float(0xff800000u) ? 0.0f : peak;
  float sum = 0.0f;
  for (int i = lane; i < num; i += 32) sum += expf(lse_of(i) - zero);
  sum = warp_sum(sum);
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  const RowResult result = row_result(job, reduction.item, r, width);
  for (int begin = 0; begin < width; begin += 128) {
    const int d = begin + lane * 4, at = d < width ? d : 0;
    Quad value{};
    for (int base = 0; base < num; base += 32) {
      const float own = base + lane < num ? expf(lse_of(base + lane) - zero) : 0.0f;
      const int count = num - base < 32 ? num - base : 32;
#pragma unroll 8
      for (int i = 0; i < count; ++i) {
        const float weight = __shfl_sync(kAllLanes, own, i);
        const std::size_t row = first + static_cast<std::size_t>(base + i) * job.item_rows;
        const Quad part = load_quad<true>(job.partial_o + row * width, at, width);
#pragma unroll
        for (int v = 0; v < 4; ++v) value.v[v] = fmaf(weight, part.v[v], value.v[v]);
      }
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) value.v[v] *= inverse;
    store_quad<false>(result.o, d, result.width, value);
  }
  if (lane == 0) *result.lse = zero + logf(sum);
}

// Block x reduces rows 4 y .. 4 y + 3 of reductions x, x + gridDim.x, ...
__global__ __launch_bounds__(32 *
                             kWarps) void reduce_partials(const __grid_constant__ DecodeLaunch job,
                                                          int width) {
  let_next_start();
  wait_for_previous();
  const int r = static_cast<int>(blockIdx.y * kWarps + threadIdx.x / 32u);
  const int num = *job.num_reductions;
  for (int x = static_cast<int>(blockIdx.x); x < num; x += static_cast<int>(gridDim.x)) {
    const DecodeReduction& reduction = job.reductions[x];
    if (r < reduction.item.num) reduce_row(job, reduction, r, width);
  }
}

bool has_shape(const DecodeShape& shape, const KvPool& pool) {
  return is_valid(pool) && shape.type == pool.type && shape.kv_heads == pool.kv_heads &&
         shape.head_dim == pool.head_dim && shape.page_tokens == pool.page_tokens;
}

template <KvType kType>
cudaError_t launch_path(const DecodeBucket& bucket, const DecodeLaunch& job, cudaStream_t stream) {
  if (bucket.shape.path == KernelPath::kGeneric) return launch_decode<kType>(bucket, job, stream);
  return launch_bulk_decode<kType>(bucket, job, stream);
}

cudaError_t launch_typed(const DecodeBucket& bucket, const DecodeLaunch& job, cudaStream_t stream) {
  switch (bucket.shape.type) {
    case KvType::kF16:
      return launch_path<KvType::kF16>(bucket, job, stream);
    case KvType::kBF16:
      return launch_path<KvType::kBF16>(bucket, job, stream);
    case KvType::kE4M3:
      return launch_path<KvType::kE4M3>(bucket, job, stream);
    default:
      return launch_path<KvType::kI8>(bucket, job, stream);
  }
}

}  // namespace

cudaError_t decode_attention(const DecodeBucket& bucket, const DecodeAttention& job,
                             cudaStream_t stream) {
  if (bucket.num_blocks < 1 || !has_shape(bucket.shape, job.pool) || job.layer < 0 ||
      job.layer >= job.pool.num_layers || !(job.softcap >= 0.0f)) {
    return cudaErrorInvalidValue;
  }
  DecodeLaunch launch_job;
  launch_job.pool = job.pool;
  launch_job.layer = job.layer;
  while ((1 << launch_job.page_shift) < job.pool.page_tokens) ++launch_job.page_shift;
  launch_job.q_heads = bucket.shape.q_heads;
  launch_job.group = bucket.shape.q_heads / bucket.shape.kv_heads;
  launch_job.item_rows = bucket.item_rows;
  launch_job.scale = job.scale;
  launch_job.softcap = job.softcap;
  launch_job.q = job.q;
  launch_job.pages = job.pages;
  const DecodePlanView plan = view_decode_plan(bucket, job.plan);
  launch_job.block_begin = plan.block_begin;
  launch_job.items = plan.items;
  launch_job.num_reductions = plan.num_reductions;
  launch_job.reductions = plan.reductions;
  launch_job.rows = plan.rows;
  const int width = kv_row_values(job.pool.head_dim);
  launch_job.partial_o = static_cast<float*>(job.workspace);
  launch_job.partial_lse =
      launch_job.partial_o +
      std::size_t{2} * static_cast<unsigned>(bucket.num_blocks * bucket.item_rows * width);
  launch_job.o = job.o;
  launch_job.lse = job.lse;
  const cudaError_t error = launch_typed(bucket, launch_job, stream);
  // Every cut lies between two blocks, and cuts some KV head of some query heads.
  const int most = std::min(bucket.num_blocks - 1, bucket.max_items - bucket.num_blocks);
  if (error != cudaSuccess || most < 1) return error;
  const dim3 grid(static_cast<unsigned>(most), static_cast<unsigned>(bucket.item_rows / kWarps));
  return launch(stream, grid, 32 * kWarps, reduce_partials, launch_job, width);
}

}  // namespace tandem::gpu_kernels
