// SPDX-License-Identifier: Apache-2.0
//
// The decode kernel: a block of four warps walks its items, 64 tokens a stage, 16 per warp.
//
// Every warp copies its own tiles (cp.async) and runs its own softmax over them; where an item has
// more query heads than one warp takes, two or four warps share their tiles and divide the heads.
// So with few heads nothing in the loop waits for another warp. In scores^T a lane has tokens
// lane / 4 and + 8 of heads 2 (lane % 4) and + 1, in O^T the same heads: peaks and their factors
// stay where they are. Probabilities reach the second product through a transposition of 8 x 8.
// A warp's probabilities are scaled by 2^10, so that their low halves keep bits; those of 8-bit
// types carry V's scales relative to the largest met, a power of two. Each tile's products are
// summed apart and added in f32, since the tensor cores truncate. Layouts: decode_shapes.h,
// kv_fragments.cuh.
#pragma once

#include "attention/decode_launch.h"
#include "attention/kv_fragments.cuh"
#include "common/async_copy.cuh"
#include "common/launch.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr float kProbabilityShift = 10.0f;
inline constexpr float kLeastUnit = 0x1p-126f;

__device__ inline float minus_infinity() { return __uint_as_float(0xff800000u); }

// One item as a block sees it.
struct ItemWalk {
  DecodeItem item;
  int base = 0;        // token_begin rounded down to a tile
  int num_stages = 0;  // of 64 tokens
  int ways = 1;        // warps that share tiles: 1, 2 or 4
};

__device__ inline void sync_ways(int ways) {
  if (ways == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
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
        const int at = token + chunk / kChunks;
        copy_async_16(to + chunk / kChunks * kStride + chunk % kChunks * 16, from + chunk * 16,
                      at >= item.token_begin && at < item.token_end);
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

// Queries as fragments of operand b: [row / 8][step][part][lane] of two words; rows behind the last
// are zeros. Each is scaled by a power of two to a peak in [2^12, 2^13); units get what turns sums
// into scores (in powers of two where no cap follows).
template <KvType kType, int kWidth>
__device__ void prepare_queries(const DecodeLaunch& job, const DecodeItem& item, int num_rows,
                                std::uint32_t* queries, float* units) {
  using Operand = typename KvOperand<kType>::Type;
  constexpr int kParts = query_parts(kType);
  constexpr int kPairs = (kWidth + 63) / 64;  // of values, per lane
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
      units[r] = down * kFragmentUnit<kType> * job.scale * (job.softcap > 0.0f ? 1.0f : kLog2E);
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

// The softmax so far of a warp's rows, and O^T. Of a tile of eight rows a lane has columns
// 2 (lane % 4) and + 1; sums are the lane's own part.
template <int kWidth, int kRowTiles>
struct RowState {
  float unit[kRowTiles][2];
  float peak[kRowTiles][2];  // log2
  float sum[kRowTiles][2];
  float acc[kRowTiles][kWidth / 16][4];
  float v_unit;  // of acc: a power of two
};

template <int kWidth, int kRowTiles>
__device__ void start_rows(RowState<kWidth, kRowTiles>& state, const float* units) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      state.unit[tile][column] = units[tile * 8 + lane % 4 * 2 + column];
      state.peak[tile][column] = minus_infinity();
      state.sum[tile][column] = 0.0f;
    }
#pragma unroll
    for (int fragment = 0; fragment < kWidth / 16; ++fragment) {
#pragma unroll
      for (int i = 0; i < 4; ++i) state.acc[tile][fragment][i] = 0.0f;
    }
  }
  state.v_unit = kLeastUnit;
}

// scores[tile][i]: token lane / 4 + i / 2 * 8, column i % 2.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void score_tile(const unsigned char* keys, const std::uint32_t* queries,
                           float (&scores)[kRowTiles][4]) {
  using Operand = typename KvOperand<kType>::Type;
  constexpr int kParts = query_parts(kType), kSteps = kWidth / 16;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  float rest[kRowTiles][4];  // of the lower parts
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[tile][i] = rest[tile][i] = 0.0f;
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    std::uint32_t a[4];
    load_keys<kType, kWidth>(keys, step, a);
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      const auto* fragments =
          reinterpret_cast<const uint2*>(queries + (tile * kSteps + step) * kParts * 64);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const uint2 b = fragments[part * 32 + lane];
        multiply_accumulate<Operand>(part == 0 ? scores[tile] : rest[tile], a, b.x, b.y);
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[tile][i] += rest[tile][i];
  }
}

// Which tokens of a tile the queries see, counted from its first.
struct TileRange {
  int begin, end;
  __device__ bool sees(int token) const { return token >= begin && token < end; }
};

// Sums to probabilities, in place; factors receive what earlier results shrink by.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void soften(const DecodeLaunch& job, const float* k_scales, TileRange range,
                       RowState<kWidth, kRowTiles>& state, float (&scores)[kRowTiles][4],
                       float (&factors)[kRowTiles][2]) {
  const int token = static_cast<int>(threadIdx.x & 31u) / 4;
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = token + i / 2 * 8;
      float x = scores[tile][i] * state.unit[tile][i % 2];
      if constexpr (has_scales(kType)) x *= k_scales[at];
      if (job.softcap > 0.0f) x = job.softcap * tanhf(x / job.softcap) * kLog2E;
      scores[tile][i] = range.sees(at) ? x : minus_infinity();
    }
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const float before = state.peak[tile][column];
      const float peak =
          fmaxf(before, warp_max<4, 16>(fmaxf(scores[tile][column], scores[tile][column + 2])));
      const float zero = peak == minus_infinity() ? 0.0f : peak;
      factors[tile][column] = exp2f(before - zero);
      float& first = scores[tile][column];
      float& second = scores[tile][column + 2];
      first = exp2f(first - zero + kProbabilityShift);
      second = exp2f(second - zero + kProbabilityShift);
      state.sum[tile][column] = state.sum[tile][column] * factors[tile][column] + (first + second);
      state.peak[tile][column] = peak;
    }
  }
}

// Probabilities times V's scales over the unit of acc, which grows to the largest power of two met.
template <int kWidth, int kRowTiles>
__device__ void apply_v_scales(const float* v_scales, TileRange range,
                               RowState<kWidth, kRowTiles>& state, float (&scores)[kRowTiles][4],
                               float (&factors)[kRowTiles][2]) {
  const int token = static_cast<int>(threadIdx.x & 31u) / 4;
  float scales[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    scales[i] = range.sees(token + i * 8) ? v_scales[token + i * 8] : 0.0f;
  }
  const float top = warp_max<4, 16>(fmaxf(fmaxf(scales[0], scales[1]), state.v_unit));
  // below 2^127, so that the inverse is no subnormal
  unsigned exponent = __float_as_uint(top) & 0x7f800000u;
  exponent = exponent > 0x7e800000u ? 0x7e800000u : exponent;
  const float unit = __uint_as_float(exponent);
  const float inverse = __uint_as_float(0x7f000000u - exponent);
  const float shrink = state.v_unit * inverse;
  state.v_unit = unit;
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[tile][i] *= scales[i / 2] * inverse;
#pragma unroll
    for (int column = 0; column < 2; ++column) factors[tile][column] *= shrink;
  }
}

// acc = acc * factors + V^T p^T.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void add_values(const unsigned char* values, const float (&p)[kRowTiles][4],
                           const float (&factors)[kRowTiles][2],
                           RowState<kWidth, kRowTiles>& state) {
  using Operand = typename KvOperand<kType>::Type;
  constexpr int kFragments = kWidth / 16;
  std::uint32_t high[kRowTiles][2], low[kRowTiles][2];
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      split<Operand>(p[tile][2 * half], p[tile][2 * half + 1], high[tile][half], low[tile][half]);
      high[tile][half] = transpose_matrix(high[tile][half]);
      low[tile][half] = transpose_matrix(low[tile][half]);
    }
  }
#pragma unroll
  for (int pair = 0; pair < (kFragments + 1) / 2; ++pair) {
    std::uint32_t a[2][4];
    load_values<kType, kWidth>(values, pair, a);
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      const int fragment = 2 * pair + second;
      if (fragment >= kFragments) continue;
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        float product[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        multiply_accumulate<Operand>(product, a[second], low[tile][0], low[tile][1]);
        multiply_accumulate<Operand>(product, a[second], high[tile][0], high[tile][1]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& sum = state.acc[tile][fragment][i];
          sum = fmaf(sum, factors[tile][i % 2], product[i]);
        }
      }
    }
  }
}

// Leaves a warp's rows in shared memory: O over its own tiles' memory [8 * kRowTiles, kWidth],
// peaks and sums in stats.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void leave_rows(const RowState<kWidth, kRowTiles>& state, float* o, float* stats) {
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int row = tile * 8 + lane % 4 * 2 + column;
      const float sum = warp_sum<4, 16>(state.sum[tile][column]);
      if (lane < 4) {
        stats[warp * 32 + row] = state.peak[tile][column];
        stats[warp * 32 + 16 + row] = sum;
      }
#pragma unroll
      for (int fragment = 0; fragment < kWidth / 16; ++fragment) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          o[row * kWidth + value_dim<kType, kWidth>(fragment, half == 1)] =
              state.acc[tile][fragment][column + 2 * half];
        }
      }
    }
  }
  if (lane == 0) stats[kDecodeWarps * 32 + warp] = state.v_unit;
}

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
      if constexpr (has_scales(kType)) value = value * kFragmentUnit<kType> * v_unit;
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
      const TileRange range{item.token_begin - token, item.token_end - token};
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
  __syncthreads();
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
