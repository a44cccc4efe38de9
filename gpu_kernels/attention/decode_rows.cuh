// SPDX-License-Identifier: Apache-2.0
//
// The running softmax of a warp's query heads over tiles of 16 tokens, and O^T.
//
// A lane holds heads 2 (lane % 4) and + 1, both in scores^T (rows lane / 4 and + 8 of the tile) and
// in O^T. So the peaks of a head and their factors stay in one lane. Probabilities are transposed
// in blocks of 8 x 8 for the second product. They are scaled by 2^10, so that their low halves keep
// bits. With 8-bit types they are also multiplied by V's scale over the largest scale so far,
// rounded up to a power of two. Tensor cores truncate sums, so the products of each tile are summed
// separately and added to O in f32. All lanes of a warp call the functions together.
#pragma once

#include "attention/decode_stages.cuh"

namespace tandem::gpu_kernels {

inline constexpr float kProbabilityShift = 10.0f;
inline constexpr float kLeastUnit = 0x1p-126f;

__device__ inline float minus_infinity() { return __uint_as_float(0xff800000u); }

// The softmax so far of a warp's rows, and O^T. Of a tile of eight rows a lane has columns
// 2 (lane % 4) and + 1; sums are the lane's own part.
template <int kWidth, int kRowTiles>
struct RowState {
  float unit[kRowTiles][2];
  float peak[kRowTiles][2];  // in units of ln 2
  float sum[kRowTiles][2];
  float acc[kRowTiles][kWidth / 16][4];
  float v_unit;  // unit of acc: a power of two
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

// scores[tile][i]: row lane / 4 + i / 2 * 8 of the tile of keys, column i % 2.
template <typename Tile, int kRowTiles>
__device__ void score_tile(const unsigned char* keys, const std::uint32_t* queries,
                           float (&scores)[kRowTiles][4]) {
  constexpr KvType kType = Tile::kType;
  using Operand = typename KvOperand<kType>::Type;
  constexpr int kParts = query_parts(kType), kSteps = Tile::kWidth / 16;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  float rest[kRowTiles][4];  // products of the lower parts
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[tile][i] = rest[tile][i] = 0.0f;
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    std::uint32_t a[4];
    load_keys<Tile>(keys, step, a);
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

// Turns sums into probabilities, in place. `factors` receives the factors by which earlier results
// are multiplied.
template <typename Tile, int kRowTiles>
__device__ void softmax_tile(const DecodeLaunch& job, const float* k_scales, TileRange range,
                             RowState<Tile::kWidth, kRowTiles>& state,
                             float (&scores)[kRowTiles][4], float (&factors)[kRowTiles][2]) {
  const int row = static_cast<int>(threadIdx.x & 31u) / 4;
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = Tile::token(row + i / 2 * 8);
      float x = scores[tile][i] * state.unit[tile][i % 2];
      if constexpr (has_scales(Tile::kType)) x *= k_scales[at];
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

// Multiplies probabilities by V's scales over the unit of acc. The unit grows to the largest power
// of two so far.
template <typename Tile, int kRowTiles>
__device__ void apply_v_scales(const float* v_scales, TileRange range,
                               RowState<Tile::kWidth, kRowTiles>& state,
                               float (&scores)[kRowTiles][4], float (&factors)[kRowTiles][2]) {
  const int row = static_cast<int>(threadIdx.x & 31u) / 4;
  float scales[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = Tile::token(row + i * 8);
    scales[i] = range.sees(at) ? v_scales[at] : 0.0f;
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

// The parts of a tile in shared memory.
struct TileParts {
  const unsigned char *k, *v;
  const float *k_scales, *v_scales;
};

// acc = acc * factors + V^T p^T.
template <typename Tile, int kRowTiles>
__device__ void add_values(const unsigned char* values, const float (&p)[kRowTiles][4],
                           const float (&factors)[kRowTiles][2],
                           RowState<Tile::kWidth, kRowTiles>& state) {
  using Operand = typename KvOperand<Tile::kType>::Type;
  constexpr int kFragments = Tile::kWidth / 16;
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
    load_values<Tile>(values, pair, a);
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

// One tile of keys and values: 16 tokens of which `range` are seen; scales where the type has them.
template <typename Tile, int kRowTiles>
__device__ void attend_tile(const DecodeLaunch& job, const TileRange& range, const TileParts& parts,
                            const std::uint32_t* queries,
                            RowState<Tile::kWidth, kRowTiles>& state) {
  float scores[kRowTiles][4], factors[kRowTiles][2];
  score_tile<Tile>(parts.k, queries, scores);
  softmax_tile<Tile>(job, parts.k_scales, range, state, scores, factors);
  if constexpr (has_scales(Tile::kType)) {
    apply_v_scales<Tile>(parts.v_scales, range, state, scores, factors);
  }
  add_values<Tile>(parts.v, scores, factors, state);
}

// Stores a warp's rows in shared memory: O as f32 [8 * kRowTiles, kWidth], peaks and sums in stats.
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

}  // namespace tandem::gpu_kernels
