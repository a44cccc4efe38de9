// SPDX-License-Identifier: Apache-2.0
//
// The decode kernel: a block of four warps walks its items, 64 tokens a stage, 16 per warp.
//
// Every warp copies its own tiles and runs its own softmax over them; where an item has more query
// heads than one warp takes, two or four warps share their tiles and divide the heads. So with few
// heads nothing in the loop waits for another warp. At an item's end the warps' results are joined
// in shared memory. Numbers and layouts: decode_rows.cuh, decode_shapes.h.
#pragma once

#include "attention/decode_rows.cuh"
#include "common/launch.cuh"

namespace tandem::gpu_kernels {

inline constexpr float kLn2 = 0.6931471805599453f;

// Joins the warps that had the same rows, and writes the results.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void join_warps(const DecodeLaunch& job, const ItemWalk& walk,
                           const unsigned char* tiles, const float* stats) {
  constexpr int kRows = 8 * kRowTiles;
  constexpr int kWarpBytes = decode_stages(kType, kWidth) * 2 * half_tile_bytes(kType, kWidth);
  static_assert(kWarpBytes >= kRows * kWidth * 4);
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  for (int r = warp; r < walk.item.num; r += kDecodeWarps) {
    const int first = r / kRows, row = r % kRows;
    float peak = minus_infinity(), v_unit = kLeastUnit;
    for (int w = first; w < kDecodeWarps; w += walk.ways) {
      peak = fmaxf(peak, stats[w * 32 + row]);
      v_unit = fmaxf(v_unit, stats[kDecodeWarps * 32 + w]);
    }
    const float zero = peak == minus_infinity() ? 0.0f : peak;
    float total = 0.0f;
    float values[kWidth / 32 + 1] = {};
    for (int w = first; w < kDecodeWarps; w += walk.ways) {
      const float weight = exp2f(stats[w * 32 + row] - zero);
      total += weight * stats[w * 32 + 16 + row];
      const float of_o = weight * (stats[kDecodeWarps * 32 + w] / v_unit);
      const auto* o = reinterpret_cast<const float*>(tiles + w * kWarpBytes) + row * kWidth;
#pragma unroll
      for (int i = 0; i * 32 < kWidth; ++i) {
        if (i * 32 + lane < kWidth) values[i] = fmaf(of_o, o[i * 32 + lane], values[i]);
      }
    }
    const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    const RowResult result = row_result(job, walk.item, r, kWidth);
#pragma unroll
    for (int i = 0; i * 32 < kWidth; ++i) {
      const int d = i * 32 + lane;
      float value = values[i] * inverse;
      if constexpr (has_scales(kType)) value *= v_unit;
      if (d < result.width) result.o[d] = value;
    }
    if (lane == 0) *result.lse = kLn2 * (zero - kProbabilityShift) + logf(total);
  }
}

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
      const TileRange range = tile_range(item, token);
      float scores[kRowTiles][4], factors[kRowTiles][2];
      score_tile<kType, kWidth, kRowTiles>(k, own_queries, scores);
      soften<kType>(job, reinterpret_cast<const float*>(k + kScalesAt), range, state, scores,
                    factors);
      if constexpr (has_scales(kType)) {
        apply_v_scales(reinterpret_cast<const float*>(v + kScalesAt), range, state, scores,
                       factors);
      }
      add_values<kType>(v, scores, factors, state);
    }
    sync_ways(walk.ways);
  }
  wait_copies<0>();
  // whoever shared this warp's tiles is behind the loop's last barrier, too
  if (has_rows) {
    leave_rows<kType>(state, reinterpret_cast<float*>(own_tiles), stats);
  }
  __syncthreads();
  join_warps<kType, kWidth, kRowTiles>(job, walk, shared, stats);
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
