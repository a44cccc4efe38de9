// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel: each block computes one tile of query heads. It reads K and V in tiles.
//
// Warp w holds query heads 16 w .. 16 w + 15 of the tile (with two row tiles: 32 of them from 32 w
// on). Let g = lane / 4 and t = lane % 4. A thread has heads g and g + 8 of each 16 (index `half` 0
// and 1 below), and columns 2t and 2t + 1 of every eight tokens (or columns of O). Scores are in
// units of ln 2, so weights are powers of two. f16 weights are stored multiplied by 2^15: the
// factor cancels in O and keeps small weights exact. Each tile has one barrier. After it all
// threads have finished the tile before, and the copies of this tile are visible. Then the copies
// of the next tile start.
#pragma once

#include "attention/prefill_tiles.cuh"
#include "common/launch.cuh"

namespace tandem::gpu_kernels {

// A thread's part of two query heads.
template <typename Traits>
struct PrefillRowTile {
  float o[Traits::kDim / 8][4] = {};
  float peak[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0f, 0.0f};  // sums of the weights that this thread holds
};

// The query heads of a warp.
template <typename Traits>
struct PrefillState {
  PrefillRowTile<Traits> rows[Traits::kRowTiles];
};
template <typename Traits>
using PrefillScores = float[Traits::kRowTiles][Traits::kKeys / 8][4];

// A tile of K and V: its index, its first token, and the buffer that holds it.
struct KeyTile {
  int index, at, buffer;
};

// The row of the tile that holds the thread's query head `half` of a row tile.
template <typename Traits>
__device__ int tile_row(int row_tile, int half) {
  return static_cast<int>(threadIdx.x / 32u) * Traits::kWarpRows + row_tile * 16 +
         static_cast<int>(threadIdx.x % 32u / 4u) + half * 8;
}

// Converts query heads into operands, one row per warp at a time. Columns from head_dim on are 0.
// For f16 a row is scaled by a power of two so that its largest value is in [2^14, 2^15).
template <typename Traits>
__device__ void load_queries(const PrefillJob& job, const PrefillTile& tile,
                             PrefillShared<Traits>& shared) {
  constexpr int kPairs = (Traits::kDim + 63) / 64;
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
#pragma unroll 2
  for (int at = 0; at < Traits::kWarpRows; ++at) {
    const int row = warp * Traits::kWarpRows + at;
    const bool is_row = (tile.first + row) / job.group < tile.num_q;
    const float* from =
        job.q + head_of_row(job, tile, row) * static_cast<std::size_t>(job.head_dim);
    float values[kPairs][2];
    float peak = 0.0f;
#pragma unroll
    for (int i = 0; i < kPairs * 2; ++i) {
      const int column = (lane + i / 2 * 32) * 2 + i % 2;
      const float value = is_row && column < job.head_dim ? from[column] : 0.0f;
      values[i / 2][i % 2] = value;
      peak = fmaxf(peak, fabsf(value));
    }
    const RowScale scale = row_scale<Traits::kIsHalf>(job, Traits::kIsHalf ? warp_max(peak) : 0.0f);
    if (lane == 0) shared.factors[row] = scale.of_products;
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int column = (lane + pair * 32) * 2;
      if (column >= Traits::kDim) break;
      std::uint32_t high, low;
      split<typename Traits::Operand>(values[pair][0] * scale.of_query,
                                      values[pair][1] * scale.of_query, high, low);
      *reinterpret_cast<std::uint32_t*>(&shared.q[0][row][column]) = high;
      if constexpr (Traits::kQueryParts == 2) {
        *reinterpret_cast<std::uint32_t*>(&shared.q[1][row][column]) = low;
      }
    }
  }
}

// The tokens that the tile's query heads see.
template <typename Traits>
__device__ void find_seen(const PrefillJob& job, const PrefillTile& tile,
                          PrefillShared<Traits>& shared) {
  if (threadIdx.x >= Traits::kRows) return;
  shared.seen[threadIdx.x] = seen_by_row(job, tile, static_cast<int>(threadIdx.x));
  for (std::uint32_t& word : shared.nan_columns[threadIdx.x]) word = 0;
}

// scores = q k^T of the warp's heads and the tile's tokens.
template <typename Traits>
__device__ void multiply_keys(const PrefillShared<Traits>& shared, int buffer,
                              PrefillScores<Traits>& scores) {
  using Operand = typename Traits::Operand;
  constexpr int kParts = Traits::kQueryParts;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned q_row = threadIdx.x / 32u * Traits::kWarpRows + lane % 16;
  const unsigned k_row = lane / 16 * 8 + lane % 8, k_column = lane / 8 % 2 * 8;
#pragma unroll
  for (int i = 0; i < Traits::kRowTiles * Traits::kKeys / 2; ++i) {
    scores[i / 4 / (Traits::kKeys / 8)][i / 4 % (Traits::kKeys / 8)][i % 4] = 0.0f;
  }
#pragma unroll
  for (int d = 0; d < Traits::kDim; d += 16) {
    std::uint32_t q[Traits::kRowTiles][kParts][4];
#pragma unroll
    for (int i = 0; i < Traits::kRowTiles * kParts; ++i) {
      const int row_tile = i / kParts, part = i % kParts;
      load_matrices(q[row_tile][part], &shared.q[part][q_row + row_tile * 16][d + lane / 16 * 8]);
    }
#pragma unroll
    for (int n = 0; n < Traits::kKeys / 8; n += 2) {
#pragma unroll
      for (int key_part = 0; key_part < Traits::kKeyParts; ++key_part) {
        std::uint32_t k[4];
        load_matrices(k, &shared.k[buffer][key_part][n * 8 + k_row][d + k_column]);
#pragma unroll
        for (int i = Traits::kRowTiles * (kParts - key_part) - 1; i >= 0; --i) {
          const int row_tile = i % Traits::kRowTiles, part = i / Traits::kRowTiles;
          multiply_accumulate<Operand>(scores[row_tile][n], q[row_tile][part], k[0], k[1]);
          multiply_accumulate<Operand>(scores[row_tile][n + 1], q[row_tile][part], k[2], k[3]);
        }
      }
    }
  }
}

// Turns products into scores: scales and caps them; a token that a head does not see gets -inf.
// Returns the largest score of each of the thread's two heads.
template <typename Traits>
__device__ float2 scale_scores(const PrefillJob& job, const PrefillShared<Traits>& shared,
                               const KeyTile& keys, int row_tile,
                               float (&scores)[Traits::kKeys / 8][4]) {
  const int quad = static_cast<int>(threadIdx.x & 3u);
  const float cap = job.softcap * kLog2E;
  const SeenTokens* warp = shared.seen + threadIdx.x / 32u * Traits::kWarpRows;
  const bool is_border =
      !holds_keys<Traits::kKeys>(seen_by_all(warp, warp + Traits::kWarpRows - 1), keys.at);
  const int rows[2] = {tile_row<Traits>(row_tile, 0), tile_row<Traits>(row_tile, 1)};
  const float factor[2] = {shared.factors[rows[0]], shared.factors[rows[1]]};
  float peak[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < Traits::kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = n * 8 + quad * 2 + i % 2, half = i / 2;
      float score = scores[n][i] * factor[half];
      if constexpr (Traits::kIsByte) score *= shared.k_scales[keys.index % kPlaceSlots][key];
      if (cap > 0.0f) score = cap * tanhf(score);
      if (is_border) {
        const SeenTokens seen = shared.seen[rows[half]];
        const int token = keys.at + key;
        score = token >= seen.begin && token < seen.end ? score : -INFINITY;
      }
      peak[half] = fmaxf(peak[half], score);
      scores[n][i] = score;
    }
  }
  return make_float2(peak[0], peak[1]);
}

// Turns scores into weights. Rescales O and the sums to the new peak.
template <typename Traits>
__device__ void weigh(const PrefillJob& job, const PrefillShared<Traits>& shared,
                      const KeyTile& keys, int row_tile, PrefillRowTile<Traits>& state,
                      float (&scores)[Traits::kKeys / 8][4]) {
  const int quad = static_cast<int>(threadIdx.x & 3u);
  const float2 peaks = scale_scores(job, shared, keys, row_tile, scores);
  float base[2], rescale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float peak = warp_max<1, 2>(fmaxf(state.peak[half], half == 0 ? peaks.x : peaks.y));
    base[half] = peak == -INFINITY ? 0.0f : peak;
    rescale[half] = exp2f(state.peak[half] - base[half]);
    state.peak[half] = peak;
    state.sum[half] *= rescale[half];
    if constexpr (Traits::kIsHalf) base[half] -= 15.0f;
  }
#pragma unroll
  for (int n = 0; n < Traits::kDim / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) state.o[n][i] *= rescale[i / 2];
  }
#pragma unroll
  for (int n = 0; n < Traits::kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float weight = exp2f(scores[n][i] - base[i / 2]);
      state.sum[i / 2] += weight;
      if constexpr (Traits::kIsByte) {
        const float v_scale = shared.v_scales[keys.index % kPlaceSlots][n * 8 + quad * 2 + i % 2];
        weight = weight == 0.0f ? 0.0f : weight * v_scale;  // 0 also where the scale is NaN
      }
      scores[n][i] = weight;
    }
  }
}

// O += weights v.
template <typename Traits>
__device__ void multiply_values(const PrefillShared<Traits>& shared, int buffer,
                                const PrefillScores<Traits>& weights, PrefillState<Traits>& state) {
  using Operand = typename Traits::Operand;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned v_row = lane / 8 % 2 * 8 + lane % 8, v_column = lane / 16 * 8;
#pragma unroll
  for (int key = 0; key < Traits::kKeys; key += 16) {
    std::uint32_t p[Traits::kRowTiles][2][4];
#pragma unroll
    for (int i = 0; i < Traits::kRowTiles * 4; ++i) {
      const float(&pair)[4] = weights[i / 4][key / 8 + i % 4 / 2];
      split<Operand>(pair[i % 2 * 2], pair[i % 2 * 2 + 1], p[i / 4][0][i % 4], p[i / 4][1][i % 4]);
    }
#pragma unroll
    for (int n = 0; n < Traits::kDim / 8; n += 2) {
#pragma unroll
      for (int key_part = 0; key_part < Traits::kKeyParts; ++key_part) {
        std::uint32_t v[4];
        load_matrices_transposed(v, &shared.v[buffer][key_part][key + v_row][n * 8 + v_column]);
#pragma unroll
        for (int i = Traits::kRowTiles * (Traits::kQueryParts - key_part) - 1; i >= 0; --i) {
          const int row_tile = i % Traits::kRowTiles, part = i / Traits::kRowTiles;
          auto& o = state.rows[row_tile].o;
          multiply_accumulate<Operand>(o[n], p[row_tile][part], v[0], v[1]);
          multiply_accumulate<Operand>(o[n + 1], p[row_tile][part], v[2], v[3]);
        }
      }
    }
  }
}

template <typename Traits>
__device__ void write_result(const PrefillJob& job, const PrefillShared<Traits>& shared,
                             int row_tile, const PrefillRowTile<Traits>& state) {
  const PrefillTile& tile = shared.tile;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = warp_sum<1, 2>(state.sum[half]);
    const int row = tile_row<Traits>(row_tile, half);
    if ((tile.first + row) / job.group >= tile.num_q) continue;
    write_row<Traits>(job, tile, {row, sum, state.peak[half], shared.nan_columns[row]},
                      [&](int n, int i) { return state.o[n][half * 2 + i]; });
  }
}

template <typename Traits>
__global__ __launch_bounds__(kPrefillThreads, 2) void prefill_tile(const PrefillJob job) {
  let_next_start();
  wait_for_previous();
  auto& shared = *reinterpret_cast<PrefillShared<Traits>*>(dynamic_shared());
  // In shared memory, because the kernels for the widest rows have no registers left for it.
  const PrefillTile& tile = shared.tile;
  {
    const PrefillTile read = job.tiles[blockIdx.x];
    if (read.num_q == 0) return;
    if (threadIdx.x == 0) shared.tile = read;
    keep_key(shared, 0, find_key<Traits>(job, read, read.kv_begin));
    keep_key(shared, 1, find_key<Traits>(job, read, read.kv_begin + Traits::kKeys));
    load_queries(job, read, shared);
    find_seen(job, read, shared);
  }
  __syncthreads();
  PrefillState<Traits> state;
  const int warp_row = static_cast<int>(threadIdx.x / 32u) * Traits::kWarpRows;
  if (tile.kv_begin < tile.kv_end) copy_tile(job, shared, 0);
  int tile_at = tile.kv_begin;
  for (int index = 0; tile_at < tile.kv_end; ++index, tile_at += Traits::kKeys) {
    const KeyTile keys{index, tile_at, index % Traits::kBuffers};
    wait_copies<0>();
    __syncthreads();
    const KeyPlace ahead = find_key<Traits>(job, tile, tile_at + 2 * Traits::kKeys);
    if (tile_at + Traits::kKeys < tile.kv_end) copy_tile(job, shared, index + 1);
    if constexpr (Traits::kIsByte) widen_tile(shared, index);
    if constexpr (Traits::kIsFloat) split_tile(job, shared, index);
    if constexpr (Traits::kBuffers == 1) __syncthreads();
    const SeenTokens in_block = seen_by_all(shared.seen, shared.seen + Traits::kRows - 1);
    if (job.causal && !holds_keys<Traits::kKeys>(in_block, tile_at)) {
      hide_non_finite(shared, keys.buffer, tile_at);
    }
    const SeenTokens in_warp =
        seen_by_some(shared.seen + warp_row, shared.seen + warp_row + Traits::kWarpRows - 1);
    const bool has_rows = tile.first + warp_row < tile.num_q * job.group;
    if (has_rows && tile_at < in_warp.end && tile_at + Traits::kKeys > in_warp.begin) {
      PrefillScores<Traits> scores;
      multiply_keys(shared, keys.buffer, scores);
#pragma unroll
      for (int i = 0; i < Traits::kRowTiles; ++i) {
        weigh(job, shared, keys, i, state.rows[i], scores[i]);
      }
      multiply_values(shared, keys.buffer, scores, state);
    }
    keep_key(shared, index + 2, ahead);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Traits::kRowTiles; ++i) write_result(job, shared, i, state.rows[i]);
}

// One instantiation per width; `kIsExact` as in PrefillShape.
template <typename Stored, bool kIsExact>
cudaError_t launch_prefill(const PrefillJob& job, int num_tiles, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(num_tiles), static_cast<unsigned>(job.kv_heads));
  const auto start = [&]<typename Traits>(Traits) {
    constexpr std::size_t kBytes = sizeof(PrefillShared<Traits>);
    static_assert(kBytes <= 163 * 1024, "a block of sm_80 has no more");
    static_assert(kBytes ==
                  prefill_block_bytes(sizeof(Stored), Traits::kDim, kIsExact, Traits::kKeys));
    return launch_shared(stream, grid, kPrefillThreads, kBytes, prefill_tile<Traits>, job);
  };
  const auto with = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    using Wide = PrefillTraits<Stored, kWidth, kIsExact>;
    if constexpr (has_narrow_tiles(sizeof(Stored), kWidth, kIsExact)) {
      if (job.tile_keys < Wide::kKeys) {
        return start(PrefillTraits<Stored, kWidth, kIsExact, true>{});
      }
    }
    return start(Wide{});
  };
  switch (kv_row_values(job.head_dim)) {
    case 64:
      return with(std::integral_constant<int, 64>{});
    case 80:
      return with(std::integral_constant<int, 80>{});
    case 96:
      return with(std::integral_constant<int, 96>{});
    case 128:
      return with(std::integral_constant<int, 128>{});
    case 256:
      return with(std::integral_constant<int, 256>{});
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tandem::gpu_kernels
