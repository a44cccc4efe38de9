// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the decode kernels: a job with the parts of its plan, and the place of an item's
// results.
//
// Shapes as in decode.h; group: query heads per KV head. The kernels of each KV type are a source
// of their own, written by instances.cmake. Internal to attention/.
#pragma once

#include "attention/decode.h"

namespace tandem::gpu_kernels {

struct DecodeLaunch {
  KvPool pool;
  int layer = 0, page_shift = 0;
  int q_heads = 0, group = 0, item_rows = 0;
  float scale = 0, softcap = 0;
  const float* q = nullptr;
  const std::uint32_t* pages = nullptr;
  const std::int32_t* block_begin = nullptr;
  const DecodeItem* items = nullptr;
  const std::int32_t* num_reductions = nullptr;
  const DecodeReduction* reductions = nullptr;
  const std::int32_t* rows = nullptr;
  float* partial_o = nullptr;    // [2 * num_blocks, item_rows, row_values]
  float* partial_lse = nullptr;  // [2 * num_blocks, item_rows]
  float* o = nullptr;
  float* lse = nullptr;
};

struct RowResult {
  float* o;  // [width]
  float* lse;
  int width;
};

// The place of the result of query head r of an item; `width`: values in a row of partials.
__device__ inline RowResult row_result(const DecodeLaunch& job, const DecodeItem& item, int r,
                                       int width) {
  if (item.partial >= 0) {
    const std::size_t at = static_cast<std::size_t>(item.partial) * job.item_rows + r;
    return {job.partial_o + at * width, job.partial_lse + at, width};
  }
  const int index = item.first + r;
  const std::size_t row = job.rows[item.row_begin + index / job.group] + item.out_offset;
  const std::size_t at = row * job.q_heads + item.kv_head * job.group + index % job.group;
  return {job.o + at * job.pool.head_dim, job.lse + at, job.pool.head_dim};
}

template <KvType kType>
cudaError_t launch_decode(const DecodeBucket& bucket, const DecodeLaunch& job, cudaStream_t stream);
extern template cudaError_t launch_decode<KvType::kF16>(const DecodeBucket&, const DecodeLaunch&,
                                                        cudaStream_t);
extern template cudaError_t launch_decode<KvType::kBF16>(const DecodeBucket&, const DecodeLaunch&,
                                                         cudaStream_t);
extern template cudaError_t launch_decode<KvType::kE4M3>(const DecodeBucket&, const DecodeLaunch&,
                                                         cudaStream_t);
extern template cudaError_t launch_decode<KvType::kI8>(const DecodeBucket&, const DecodeLaunch&,
                                                       cudaStream_t);

// Launches the Hopper path. The bucket must have stages.
template <KvType kType>
cudaError_t launch_bulk_decode(const DecodeBucket& bucket, const DecodeLaunch& job,
                               cudaStream_t stream);
extern template cudaError_t launch_bulk_decode<KvType::kF16>(const DecodeBucket&,
                                                             const DecodeLaunch&, cudaStream_t);
extern template cudaError_t launch_bulk_decode<KvType::kBF16>(const DecodeBucket&,
                                                              const DecodeLaunch&, cudaStream_t);
extern template cudaError_t launch_bulk_decode<KvType::kE4M3>(const DecodeBucket&,
                                                              const DecodeLaunch&, cudaStream_t);
extern template cudaError_t launch_bulk_decode<KvType::kI8>(const DecodeBucket&,
                                                            const DecodeLaunch&, cudaStream_t);

}  // namespace tandem::gpu_kernels
