// SPDX-License-Identifier: Apache-2.0
//
// Loads of the decode kernels: tiles of K and V by asynchronous copies, queries as fragments.
//
// A warp copies its own tile of every stage of 64 tokens. Tokens outside the item's range become
// zeros, so that unread memory cannot give NaN. Shapes: decode_shapes.h, decode_launch.h. All lanes
// of a warp call together; a barrier of the block is between prepare_queries() and the use of the
// queries.
#pragma once

#include "attention/decode_launch.h"
#include "attention/kv_fragments.cuh"
#include "common/async_copy.cuh"
#include "common/logarithms.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {

// One item as a block sees it.
struct ItemWalk {
  DecodeItem item;
  int base = 0;        // token_begin rounded down to a tile
  int num_stages = 0;  // stages of 64 tokens
  int ways = 1;        // warps that share tiles: 1, 2 or 4
};

__device__ inline void sync_ways(int ways) {
  if (ways == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// Which tokens of a tile an item sees: `size` of them from `begin` on, counted from its first.
struct TileRange {
  int begin;
  unsigned size;
  __device__ bool sees(int token) const { return static_cast<unsigned>(token - begin) < size; }
};
__device__ inline TileRange tile_range(const DecodeItem& item, int first_token) {
  return {item.token_begin - first_token, static_cast<unsigned>(item.token_end - item.token_begin)};
}

// Copies this warp's tile of a stage; closes a group of copies in any case. `pages` holds the pages
// of 32 stages, one per lane, from stages divisible by 32 on.
template <KvType kType, int kWidth>
__device__ void load_stage(const DecodeLaunch& job, const ItemWalk& walk, int stage,
                           std::uint32_t& pages, unsigned char* tiles) {
  constexpr int kChunks = kWidth * value_bytes_of(kType) / 16;
  constexpr int kTotal = kTileTokens * kChunks;
  constexpr int kHalf = half_tile_bytes(kType, kWidth);
  constexpr int kStride = tile_row_bytes(kType, kWidth);
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  const DecodeItem& item = walk.item;
  const int token = walk.base + stage * kStageTokens + warp * kTileTokens;
  if (stage % 32 == 0) {
    const int ahead = token + lane * kStageTokens;
    pages = ahead < item.token_end ? job.pages[item.page_begin + (ahead >> job.page_shift)] : 0;
  }
  const std::uint32_t page = __shfl_sync(kAllLanes, pages, stage % 32);
  if (token < item.token_end) {
    const TileRange range = tile_range(item, token);
    unsigned char* to = tiles + stage % decode_stages(kType, kWidth) * 2 * kHalf;
#pragma unroll
    for (int half = 0; half < 2; ++half, to += kHalf) {
      const std::size_t row = kv_row(job.pool, job.layer, page, half == 1, item.kv_head,
                                     token & ((1 << job.page_shift) - 1));
      const auto* from = static_cast<const unsigned char*>(job.pool.values) +
                         row * (kWidth * value_bytes_of(kType));
#pragma unroll
      for (int i = 0; i < (kTotal + 31) / 32; ++i) {
        const int chunk = i * 32 + lane;
        if (kTotal % 32 != 0 && chunk >= kTotal) continue;
        copy_async_16(to + chunk / kChunks * kStride + chunk % kChunks * 16, from + chunk * 16,
                      range.sees(chunk / kChunks));
      }
      if constexpr (has_scales(kType)) {
        if (lane < 4) {
          copy_async_16(to + kTileTokens * kStride + lane * 16, job.pool.scales + row + lane * 4,
                        true);
        }
      }
    }
  }
  commit_copies();
}

// The row of q that query head r of the item belongs to, and its head.
struct QueryHead {
  int row, head;
};
__device__ inline QueryHead query_head(const DecodeLaunch& job, const DecodeItem& item, int r) {
  const int at = item.first + r;
  return {job.rows[item.row_begin + at / job.group], item.kv_head * job.group + at % job.group};
}

// Queries as fragments of operand b: [row / 8][step][part][lane] of two words; rows after the last
// are zeros. Each is scaled by a power of two to a peak in [2^12, 2^13). `units` receives the
// factors that turn sums into scores (in powers of two if no cap follows).
template <KvType kType, int kWidth>
__device__ void prepare_queries(const DecodeLaunch& job, const DecodeItem& item, int num_rows,
                                std::uint32_t* queries, float* units) {
  using Operand = typename KvOperand<kType>::Type;
  constexpr int kParts = query_parts(kType);
  constexpr int kPairs = (kWidth + 63) / 64;  // pairs of values per lane
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  const int head_dim = job.pool.head_dim;
  for (int r = warp; r < num_rows; r += kDecodeWarps) {
    float values[kPairs][2];
    int bits = 0;  // of the largest magnitude: as integers NaN is the largest of all
    const QueryHead own = query_head(job, item, r < item.num ? r : 0);
    const float* from =
        job.q + (static_cast<std::size_t>(own.row) * job.q_heads + own.head) * head_dim;
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int d = pair * 64 + lane * 2 + i;
        values[pair][i] = r < item.num && d < head_dim ? from[d] : 0.0f;
        const int own_bits = static_cast<int>(__float_as_uint(values[pair][i]) & 0x7fffffffu);
        bits = own_bits > bits ? own_bits : bits;
      }
    }
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_xor_sync(kAllLanes, bits, distance);
      bits = other > bits ? other : bits;
    }
    const int exponent = bits >> 23;
    int shift = exponent == 255 ? 0 : 127 + 12 - exponent;
    shift = shift > 120 ? 120 : shift;
    const float up = __uint_as_float(static_cast<unsigned>(127 + shift) << 23);
    const float down = __uint_as_float(static_cast<unsigned>(127 - shift) << 23);
    if (lane == 0) {
      units[r] = down * job.scale * (job.softcap > 0.0f ? 1.0f : kLog2E);
    }
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int d = pair * 64 + lane * 2;
      if (d >= kWidth) continue;
      const QueryPlace place = query_place<kType>(d);
      float low = values[pair][0] * up, high = values[pair][1] * up;
      std::uint32_t* to = queries + (r / 8 * (kWidth / 16) + d / 16) * kParts * 64 +
                          (r % 8 * 4 + place.quad) * 2 + place.word;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const std::uint32_t packed = pack<Operand>(low, high);
        to[part * 64] = packed;
        low -= Operand::widen(static_cast<std::uint16_t>(packed));
        high -= Operand::widen(static_cast<std::uint16_t>(packed >> 16));
      }
    }
  }
}

}  // namespace tandem::gpu_kernels
