// SPDX-License-Identifier: Apache-2.0
//
// append_kv(): a warp per place, KV head, and k or v.
#include "kv_cache/append.h"

#include "common/launch.cuh"
#include "kv_cache/kv_rounding.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kWarps = 4;

// Block x takes four of the kv_heads * 2 rows of place blockIdx.x / blocks_per_place.
template <KvType kType>
__global__ __launch_bounds__(32 * kWarps) void append_rows(const __grid_constant__ AppendKv job,
                                                           int width, unsigned blocks_per_place) {
  let_next_start();
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const int part = static_cast<int>(blockIdx.x % blocks_per_place * kWarps + threadIdx.x / 32u);
  const KvPlace place = job.places[blockIdx.x / blocks_per_place];
  if (place.page == kNoPage || part >= job.pool.kv_heads * 2) return;
  const bool is_v = part >= job.pool.kv_heads;
  const int kv_head = part - (is_v ? job.pool.kv_heads : 0);
  const int head_dim = job.pool.head_dim;
  const float* from = (is_v ? job.v : job.k) +
                      static_cast<std::int64_t>(place.row) * (is_v ? job.v_stride : job.k_stride) +
                      static_cast<std::int64_t>(kv_head) * head_dim;
  float values[kRowQuads][4];
#pragma unroll
  for (int quad = 0; quad < kRowQuads; ++quad) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int d = (quad * 32 + lane) * 4 + i;
      values[quad][i] = d < head_dim ? from[d] : 0.0f;
    }
  }
  const std::size_t row = kv_row(job.pool, job.layer, place.page, is_v, kv_head, place.token);
  store_row<kType>(values, width,
                   static_cast<unsigned char*>(job.pool.values) +
                       row * static_cast<unsigned>(width * value_bytes_of(kType)),
                   job.pool.scales + row);
}

}  // namespace

cudaError_t append_kv(const AppendKv& job, cudaStream_t stream) {
  if (!is_valid(job.pool) || job.layer < 0 || job.layer >= job.pool.num_layers ||
      job.num_places < 0) {
    return cudaErrorInvalidValue;
  }
  if (job.num_places == 0) return cudaSuccess;
  AppendKv full = job;
  const std::int64_t packed = static_cast<std::int64_t>(job.pool.kv_heads) * job.pool.head_dim;
  if (full.k_stride == 0) full.k_stride = packed;
  if (full.v_stride == 0) full.v_stride = packed;
  const auto blocks = static_cast<unsigned>((job.pool.kv_heads * 2 + kWarps - 1) / kWarps);
  const auto start = [&](auto kernel) {
    return launch(stream, dim3(static_cast<unsigned>(job.num_places) * blocks), 32 * kWarps, kernel,
                  full, kv_row_values(job.pool.head_dim), blocks);
  };
  switch (job.pool.type) {
    case KvType::kF16:
      return start(append_rows<KvType::kF16>);
    case KvType::kBF16:
      return start(append_rows<KvType::kBF16>);
    case KvType::kE4M3:
      return start(append_rows<KvType::kE4M3>);
    default:
      return start(append_rows<KvType::kI8>);
  }
}

}  // namespace tandem::gpu_kernels
