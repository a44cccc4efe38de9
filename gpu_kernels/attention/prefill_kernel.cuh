// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel: one tile of query heads against its tokens, tile by tile.
//
// Warp w holds query heads 16 w .. 16 w + 15 of the tile; with g = lane / 4 and t = lane % 4 a
// thread has heads g and g + 8 of them (index `half` 0 and 1 below), and of every eight tokens (or
// columns of O) 2t and 2t + 1. Scores are in units of ln 2, so that weights are powers of two; f16
// weights are 2^15 times what they say, which cancels in O and keeps small ones exact.
// One barrier per tile, behind which everybody has done with the tile before and this tile's copies
// are visible; then the next tile's copies start.
#pragma once

#include "attention/prefill_tiles.cuh"
#include "common/launch.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {

inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kLn2 = 0.693147181f;

// A thread's part of its two query heads.
template <typename Traits>
struct PrefillState {
  float o[Traits::kDim / 8][4] = {};
  float peak[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0f, 0.0f};  // of the thread's own weights
};

// Row of the tile that the thread's query head `half` is.
__device__ inline int tile_row(int half) {
  return static_cast<int>(threadIdx.x / 32u * 16u + threadIdx.x % 32u / 4u) + half * 8;
}

// What some and what all of the 16 query heads of a warp, or of several rows, see: both ends grow
// with the row.
__device__ inline SeenTokens seen_by_some(const SeenTokens* first, const SeenTokens* last) {
  return {first->begin, last->end};
}
__device__ inline SeenTokens seen_by_all(const SeenTokens* first, const SeenTokens* last) {
  return {last->begin, first->end};
}
template <typename Traits>
__device__ bool holds_tile(SeenTokens seen, int tile_at) {
  return tile_at >= seen.begin && tile_at + Traits::kKeys <= seen.end;
}

// Query heads into operands, a row per warp at a time; what lies behind head_dim is 0. For f16 a
// row is scaled by a power of two so that its largest value is in [2^14, 2^15).
template <typename Traits>
__device__ void load_queries(const PrefillJob& job, const PrefillTile& tile,
                             PrefillShared<Traits>& shared) {
  constexpr int kPairs = (Traits::kDim + 63) / 64;
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  const int group = job.q_heads / job.kv_heads;
#pragma unroll 2
  for (int row = warp * 16; row < warp * 16 + 16; ++row) {
    const int token = (tile.first + row) / group, head = (tile.first + row) % group;
    const float* from = job.q + ((static_cast<std::size_t>(tile.q_begin) + token) * job.q_heads +
                                 blockIdx.y * group + head) *
                                    static_cast<std::size_t>(job.head_dim);
    float values[kPairs][2];
    float peak = 0.0f;
#pragma unroll
    for (int i = 0; i < kPairs * 2; ++i) {
      const int column = (lane + i / 2 * 32) * 2 + i % 2;
      const float value = token < tile.num_q && column < job.head_dim ? from[column] : 0.0f;
      values[i / 2][i % 2] = value;
      peak = fmaxf(peak, fabsf(value));
    }
    float up = 1.0f, down = 1.0f;
    if constexpr (Traits::kIsHalf) {
      const int exponent = static_cast<int>(bits_of(warp_max(peak)) >> 23);
      const int power = exponent < 15 ? 126 : 141 - exponent;
      up = float_of(static_cast<std::uint32_t>(127 + power) << 23);
      down = float_of(static_cast<std::uint32_t>(127 - power) << 23);
    }
    if (lane == 0) {
      shared.factors[row] =
          job.softcap > 0.0f ? down * (job.scale / job.softcap) : down * (job.scale * kLog2E);
    }
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int column = (lane + pair * 32) * 2;
      if (column >= Traits::kDim) break;
      std::uint32_t high, low;
      split<typename Traits::Operand>(values[pair][0] * up, values[pair][1] * up, high, low);
      *reinterpret_cast<std::uint32_t*>(&shared.q[0][row][column]) = high;
      if constexpr (Traits::kQueryParts == 2) {
        *reinterpret_cast<std::uint32_t*>(&shared.q[1][row][column]) = low;
      }
    }
  }
}

// The tokens that the tile's query heads see; those behind the sequence's last see what it sees.
template <typename Traits>
__device__ void find_seen(const PrefillJob& job, const PrefillTile& tile,
                          PrefillShared<Traits>& shared) {
  if (threadIdx.x >= kPrefillRows) return;
  const int place = tile.first + static_cast<int>(threadIdx.x);
  const int token = min(place / (job.q_heads / job.kv_heads), tile.num_q - 1);
  SeenTokens seen{tile.kv_begin, tile.kv_end};
  if (job.causal) seen = {job.window > 0 ? max(0, token + 1 - job.window) : 0, token + 1};
  shared.seen[threadIdx.x] = seen;
}

// scores = q k^T of the warp's 16 heads and the tile's tokens.
template <typename Traits>
__device__ void multiply_keys(const PrefillShared<Traits>& shared, int buffer,
                              float (&scores)[Traits::kKeys / 8][4]) {
  using Operand = typename Traits::Operand;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned q_row = threadIdx.x / 32u * 16 + lane % 16, q_column = lane / 16 * 8;
  const unsigned k_row = lane / 16 * 8 + lane % 8, k_column = lane / 8 % 2 * 8;
#pragma unroll
  for (int n = 0; n < Traits::kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0.0f;
  }
#pragma unroll
  for (int d = 0; d < Traits::kDim; d += 16) {
    std::uint32_t q[Traits::kQueryParts][4];
#pragma unroll
    for (int part = 0; part < Traits::kQueryParts; ++part) {
      load_matrices(q[part], &shared.q[part][q_row][d + q_column]);
    }
#pragma unroll
    for (int n = 0; n < Traits::kKeys / 8; n += 2) {
#pragma unroll
      for (int key_part = 0; key_part < Traits::kKeyParts; ++key_part) {
        std::uint32_t k[4];
        load_matrices(k, &shared.k[buffer][key_part][n * 8 + k_row][d + k_column]);
#pragma unroll
        for (int part = Traits::kQueryParts - 1 - key_part; part >= 0; --part) {
          multiply_accumulate<Operand>(scores[n], q[part], k[0], k[1]);
          multiply_accumulate<Operand>(scores[n + 1], q[part], k[2], k[3]);
        }
      }
    }
  }
}

// Products become weights, O and the sums what they are beside the new peak.
template <typename Traits>
__device__ void weigh(const PrefillJob& job, const PrefillShared<Traits>& shared, int tile_index,
                      int tile_at, PrefillState<Traits>& state,
                      float (&scores)[Traits::kKeys / 8][4]) {
  const int quad = static_cast<int>(threadIdx.x & 3u);
  const float cap = job.softcap * kLog2E;
  const SeenTokens* warp = shared.seen + threadIdx.x / 32u * 16u;
  const bool is_border = !holds_tile<Traits>(seen_by_all(warp, warp + 15), tile_at);
  float peak[2] = {state.peak[0], state.peak[1]};
  const float factor[2] = {shared.factors[tile_row(0)], shared.factors[tile_row(1)]};
#pragma unroll
  for (int n = 0; n < Traits::kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = n * 8 + quad * 2 + i % 2, half = i / 2;
      float score = scores[n][i] * factor[half];
      if constexpr (Traits::kIsByte) score *= shared.k_scales[tile_index % kPlaceSlots][key];
      if (cap > 0.0f) score = cap * tanhf(score);
      if (is_border) {
        const int token = tile_at + key;
        const SeenTokens seen = shared.seen[tile_row(half)];
        score = token >= seen.begin && token < seen.end ? score : -INFINITY;
      }
      peak[half] = fmaxf(peak[half], score);
      scores[n][i] = score;
    }
  }
  float base[2], rescale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    peak[half] = warp_max<1, 2>(peak[half]);
    base[half] = peak[half] == -INFINITY ? 0.0f : peak[half];
    rescale[half] = exp2f(state.peak[half] - base[half]);
    state.peak[half] = peak[half];
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
        const float v_scale = shared.v_scales[tile_index % kPlaceSlots][n * 8 + quad * 2 + i % 2];
        weight = weight == 0.0f ? 0.0f : weight * v_scale;  // 0 also where the scale is NaN
      }
      scores[n][i] = weight;
    }
  }
}

// O += weights v.
template <typename Traits>
__device__ void multiply_values(const PrefillShared<Traits>& shared, int buffer,
                                const float (&weights)[Traits::kKeys / 8][4],
                                PrefillState<Traits>& state) {
  using Operand = typename Traits::Operand;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned v_row = lane / 8 % 2 * 8 + lane % 8, v_column = lane / 16 * 8;
#pragma unroll
  for (int key = 0; key < Traits::kKeys; key += 16) {
    std::uint32_t p[2][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float(&pair)[4] = weights[key / 8 + i / 2];
      split<Operand>(pair[i % 2 * 2], pair[i % 2 * 2 + 1], p[0][i], p[1][i]);
    }
#pragma unroll
    for (int n = 0; n < Traits::kDim / 8; n += 2) {
#pragma unroll
      for (int key_part = 0; key_part < Traits::kKeyParts; ++key_part) {
        std::uint32_t v[4];
        load_matrices_transposed(v, &shared.v[buffer][key_part][key + v_row][n * 8 + v_column]);
#pragma unroll
        for (int part = Traits::kQueryParts - 1 - key_part; part >= 0; --part) {
          multiply_accumulate<Operand>(state.o[n], p[part], v[0], v[1]);
          multiply_accumulate<Operand>(state.o[n + 1], p[part], v[2], v[3]);
        }
      }
    }
  }
}

// The tokens of a tile, as bits, that a query head sees.
__device__ inline std::uint64_t seen_bits(int tile_at, SeenTokens seen) {
  const auto below = [tile_at](int token) {
    const int count = token - tile_at;
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << max(count, 0)) - 1;
  };
  return below(seen.end) & ~below(seen.begin);
}

// A weight of 0 hides a token from a query head, but not what is not finite in its v. Where a tile
// that only some heads see holds such values, the heads that see them become NaN and the values 0.
template <typename Traits>
__device__ void hide_non_finite(PrefillShared<Traits>& shared, int buffer, int tile_at,
                                PrefillState<Traits>& state) {
  constexpr std::uint32_t kExponent = Traits::kIsHalf ? 0x7c00 : 0x7f80;
  constexpr int kPairs = Traits::kDim / 2;
  auto& v = shared.v[buffer][0];
  const auto is_finite = [](std::uint32_t bits) { return (bits & kExponent) != kExponent; };
  bool found = false;
  for (int at = static_cast<int>(threadIdx.x); at < Traits::kKeys * kPairs; at += kPrefillThreads) {
    const std::uint32_t pair =
        *reinterpret_cast<const std::uint32_t*>(&v[at / kPairs][at % kPairs * 2]);
    found = found || !is_finite(pair) || !is_finite(pair >> 16);
  }
  if (!__syncthreads_or(found)) return;
  for (int column = static_cast<int>(threadIdx.x); column < Traits::kDim;
       column += kPrefillThreads) {
    std::uint64_t bad = 0;
    for (int key = 0; key < Traits::kKeys; ++key) {
      if (is_finite(v[key][column])) continue;
      bad |= std::uint64_t{1} << key;
      for (int part = 0; part < Traits::kKeyParts; ++part) shared.v[buffer][part][key][column] = 0;
    }
    shared.bad[column] = bad;
  }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t seen = seen_bits(tile_at, shared.seen[tile_row(half)]);
#pragma unroll
    for (int n = 0; n < Traits::kDim / 8; ++n) {
      const int column = n * 8 + static_cast<int>(threadIdx.x & 3u) * 2;
      if (shared.bad[column] & seen) state.o[n][half * 2] = NAN;
      if (shared.bad[column + 1] & seen) state.o[n][half * 2 + 1] = NAN;
    }
  }
}

template <typename Traits>
__device__ void write_result(const PrefillJob& job, const PrefillTile& tile,
                             const PrefillState<Traits>& state) {
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  const int group = job.q_heads / job.kv_heads;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = warp_sum<1, 2>(state.sum[half]);
    const int place = tile.first + warp * 16 + lane / 4 + half * 8;
    if (place / group >= tile.num_q) continue;
    const std::size_t head =
        (static_cast<std::size_t>(tile.q_begin) + place / group) * job.q_heads +
        blockIdx.y * group + place % group;
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    const float shift = Traits::kIsHalf ? 15.0f : 0.0f;
    if (lane % 4 == 0) {
      job.lse[head] = sum == 0.0f ? -INFINITY : (state.peak[half] + (log2f(sum) - shift)) * kLn2;
    }
    float* to = job.o + head * static_cast<std::size_t>(job.head_dim);
#pragma unroll
    for (int n = 0; n < Traits::kDim / 8; ++n) {
      const int column = n * 8 + lane % 4 * 2;
      const float low = state.o[n][half * 2] * inverse, high = state.o[n][half * 2 + 1] * inverse;
      if (job.head_dim % 2 == 0) {
        if (column < job.head_dim) *reinterpret_cast<float2*>(to + column) = make_float2(low, high);
      } else {
        if (column < job.head_dim) to[column] = low;
        if (column + 1 < job.head_dim) to[column + 1] = high;
      }
    }
  }
}

template <typename Traits>
__global__ __launch_bounds__(kPrefillThreads, 2) void prefill_tile(const PrefillJob job) {
  auto& shared = *reinterpret_cast<PrefillShared<Traits>*>(dynamic_shared());
  const PrefillTile tile = job.tiles[blockIdx.x];
  if (tile.num_q == 0) return;
  const int num_tiles = (tile.kv_end - tile.kv_begin + Traits::kKeys - 1) / Traits::kKeys;
  keep_key(shared, 0, find_key<Traits>(job, tile, tile.kv_begin));
  keep_key(shared, 1, find_key<Traits>(job, tile, tile.kv_begin + Traits::kKeys));
  load_queries(job, tile, shared);
  find_seen(job, tile, shared);
  __syncthreads();
  PrefillState<Traits> state;
  const int warp_row = static_cast<int>(threadIdx.x / 32u) * 16;
  const bool is_idle = tile.first + warp_row >= tile.num_q * (job.q_heads / job.kv_heads);
  if (num_tiles > 0) copy_tile(job, shared, 0);
  for (int index = 0; index < num_tiles; ++index) {
    const int tile_at = tile.kv_begin + index * Traits::kKeys;
    const int buffer = index % Traits::kBuffers;
    wait_copies<0>();
    __syncthreads();
    const KeyPlace ahead = find_key<Traits>(job, tile, tile_at + 2 * Traits::kKeys);
    if (index + 1 < num_tiles) copy_tile(job, shared, index + 1);
    if constexpr (Traits::kIsByte) widen_tile(shared, index);
    if constexpr (Traits::kIsFloat) split_tile(job, shared, index);
    if constexpr (Traits::kBuffers == 1) __syncthreads();
    const SeenTokens in_block = seen_by_all(shared.seen, shared.seen + kPrefillRows - 1);
    if (job.causal && !holds_tile<Traits>(in_block, tile_at)) {
      hide_non_finite(shared, buffer, tile_at, state);
    }
    const SeenTokens in_warp = seen_by_some(shared.seen + warp_row, shared.seen + warp_row + 15);
    if (!is_idle && tile_at < in_warp.end && tile_at + Traits::kKeys > in_warp.begin) {
      float scores[Traits::kKeys / 8][4];
      multiply_keys(shared, buffer, scores);
      weigh(job, shared, index, tile_at, state, scores);
      multiply_values(shared, buffer, scores, state);
    }
    keep_key(shared, index + 2, ahead);
  }
  write_result(job, tile, state);
}

// One instantiation per width; `kIsExact` as in PrefillShape.
template <typename Stored, bool kIsExact>
cudaError_t launch_prefill(const PrefillJob& job, int num_tiles, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(num_tiles), static_cast<unsigned>(job.kv_heads));
  const auto with = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    using Traits = PrefillTraits<Stored, kWidth, kIsExact>;
    return launch_shared(stream, grid, kPrefillThreads, sizeof(PrefillShared<Traits>),
                         prefill_tile<Traits>, job);
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
