// SPDX-License-Identifier: Apache-2.0
//
// The decode kernel: a block of four warps processes its items, 64 tokens per stage, 16 per warp.
//
// Each warp copies its own tiles and runs its own softmax over them, so with few query heads no
// warp waits for another in the loop. If an item has more query heads than one warp takes, two or
// four warps share their tiles and divide the heads. At the end of an item the warps' results are
// joined in shared memory. Numbers and layouts: decode_rows.cuh, decode_shapes.h.
#pragma once

#include "attention/decode_join.cuh"
#include "common/launch.cuh"
#include "common/shared_limit.h"

namespace tandem::gpu_kernels {

template <KvType kType, int kWidth, int kRowTiles>
__device__ void attend_item(const DecodeLaunch& job, const DecodeItem& item,
                            unsigned char* shared) {
  constexpr int kStages = decode_stages(kType, kWidth), kRows = 8 * kRowTiles;
  constexpr int kHalf = half_tile_bytes(kType, kWidth), kWarpBytes = kStages * 2 * kHalf;
  constexpr int kQueryWords = kWidth / 16 * query_parts(kType) * 64;  // of eight rows
  const DecodeShared at = decode_shared(kType, kWidth, job.item_rows);
  const int warp = static_cast<int>(threadIdx.x / 32u);
  auto* queries = reinterpret_cast<std::uint32_t*>(shared + at.queries);
  auto* units = reinterpret_cast<float*>(shared + at.units);
  auto* stats = reinterpret_cast<float*>(shared + at.stats);
  ItemWalk walk{item, item.token_begin / kTileTokens * kTileTokens};
  walk.num_stages = (item.token_end - walk.base + kStageTokens - 1) / kStageTokens;
  if (item.token_begin == item.token_end) walk.num_stages = 0;
  while (walk.ways * kRows < item.num) walk.ways *= 2;
  unsigned char* own_tiles = shared + warp * kWarpBytes;
  std::uint32_t pages = 0;
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    load_stage<kType, kWidth>(job, walk, stage, pages, own_tiles);
  }
  prepare_queries<kType, kWidth>(job, item, (item.num + kRows - 1) / kRows * kRows, queries, units);
  __syncthreads();

  const int row_group = warp % walk.ways, token_group = warp / walk.ways;
  const bool has_rows = row_group * kRows < item.num;
  const std::uint32_t* own_queries = queries + row_group * kRowTiles * kQueryWords;
  RowState<kWidth, kRowTiles> state;
  start_rows(state, units + (has_rows ? row_group * kRows : 0));
  for (int stage = 0; stage < walk.num_stages; ++stage) {
    load_stage<kType, kWidth>(job, walk, stage + kStages - 1, pages, own_tiles);
    wait_copies<kStages - 1>();
    sync_ways(walk.ways);
    for (int owner = token_group; owner < kDecodeWarps; owner += kDecodeWarps / walk.ways) {
      const int token = walk.base + stage * kStageTokens + owner * kTileTokens;
      if (!has_rows || token >= item.token_end) continue;
      const unsigned char* k = shared + owner * kWarpBytes + stage % kStages * 2 * kHalf;
      const unsigned char* v = k + kHalf;
      constexpr int kScalesAt = kTileTokens * tile_row_bytes(kType, kWidth);
      const TileParts parts{k, v, reinterpret_cast<const float*>(k + kScalesAt),
                            reinterpret_cast<const float*>(v + kScalesAt)};
      attend_tile<PaddedTile<kType, kWidth>, kRowTiles>(job, tile_range(item, token), parts,
                                                        own_queries, state);
    }
    sync_ways(walk.ways);
  }
  wait_copies<0>();
  // warps that share this warp's tiles have also passed the loop's last barrier
  if (has_rows) {
    leave_rows<kType>(state, reinterpret_cast<float*>(own_tiles), stats);
  }
  __syncthreads();
  static_assert(kWarpBytes >= kRows * kWidth * 4);
  join_warps<kType, kWidth, kRowTiles>(job, walk, shared, kWarpBytes, stats);
  __syncthreads();
}

template <KvType kType, int kWidth, int kRowTiles>
__global__ __launch_bounds__(kDecodeThreads, resident_blocks(kWidth, kRowTiles)) void decode_items(
    const __grid_constant__ DecodeLaunch job) {
  let_next_start();
  wait_for_previous();
  unsigned char* shared = dynamic_shared();
  const int end = job.block_begin[blockIdx.x + 1];
  for (int index = job.block_begin[blockIdx.x]; index < end; ++index) {
    attend_item<kType, kWidth, kRowTiles>(job, job.items[index], shared);
  }
}

// Launches the kernel for the bucket's width and rows.
template <KvType kType>
cudaError_t launch_decode(const DecodeBucket& bucket, const DecodeLaunch& job,
                          cudaStream_t stream) {
  const auto start = [&](auto kernel) {
    const cudaError_t error = allow_and_prefer_most_shared(reinterpret_cast<const void*>(kernel));
    if (error != cudaSuccess) return error;
    return launch_shared(stream, dim3(static_cast<unsigned>(bucket.num_blocks)), kDecodeThreads,
                         static_cast<unsigned>(bucket.shared_bytes), kernel, job);
  };
  const bool many = row_tiles_of(bucket.item_rows) == 2;
  switch (kv_row_values(bucket.shape.head_dim)) {
    case 64:
      return many ? start(decode_items<kType, 64, 2>) : start(decode_items<kType, 64, 1>);
    case 80:
      return many ? start(decode_items<kType, 80, 2>) : start(decode_items<kType, 80, 1>);
    case 96:
      return many ? start(decode_items<kType, 96, 2>) : start(decode_items<kType, 96, 1>);
    case 128:
      return many ? start(decode_items<kType, 128, 2>) : start(decode_items<kType, 128, 1>);
    case 256:
      return start(decode_items<kType, 256, 1>);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tandem::gpu_kernels
