// SPDX-License-Identifier: Apache-2.0
//
// Query heads of a tile, for both prefill kernels: the tokens that each sees, its place, its scale,
// and the write of its result.
//
// Tile row r of a KV head is query head r % group of the sequence's row r / group (prefill_plan.h).
// Both ends of the visible range grow with the row.
#pragma once

#include "attention/prefill_job.h"
#include "common/floats.h"
#include "common/logarithms.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {

// Tokens [begin, end) that a query head sees.
struct SeenTokens {
  int begin, end;
};

// The tokens that a row of the tile sees. Rows after the sequence's last see the same as the last.
__device__ inline SeenTokens seen_by_row(const PrefillJob& job, const PrefillTile& tile, int row) {
  const int token = min((tile.first + row) / job.group, tile.num_q - 1);
  SeenTokens seen{tile.kv_begin, tile.kv_end};
  if (job.causal) seen = {job.window > 0 ? max(0, token + 1 - job.window) : 0, token + 1};
  return seen;
}

// The tokens that at least one of several rows sees, and those that all of them see.
__device__ inline SeenTokens seen_by_some(const SeenTokens* first, const SeenTokens* last) {
  return {first->begin, last->end};
}
__device__ inline SeenTokens seen_by_all(const SeenTokens* first, const SeenTokens* last) {
  return {last->begin, first->end};
}
template <int kKeys>
__device__ bool holds_keys(SeenTokens seen, int first_key) {
  return first_key >= seen.begin && first_key + kKeys <= seen.end;
}

// Index of a row of the tile among all query heads of q, o and lse.
__device__ inline std::size_t head_of_row(const PrefillJob& job, const PrefillTile& tile, int row) {
  const int place = tile.first + row;
  return (static_cast<std::size_t>(tile.q_begin) + place / job.group) * job.q_heads +
         blockIdx.y * job.group + place % job.group;
}

// The factor of a row of q, and the factor that turns its products with k into scores.
struct RowScale {
  float of_query, of_products;
};

// f16 rows are scaled by a power of two so that their largest value is in [2^14, 2^15).
template <bool kIsHalf>
__device__ RowScale row_scale(const PrefillJob& job, float largest) {
  float up = 1.0f, down = 1.0f;
  if constexpr (kIsHalf) {
    const int exponent = static_cast<int>(bits_of(largest) >> 23);
    const int power = exponent < 15 ? 126 : 141 - exponent;
    up = float_of(static_cast<std::uint32_t>(127 + power) << 23);
    down = float_of(static_cast<std::uint32_t>(127 - power) << 23);
  }
  return {up, job.softcap > 0.0f ? down * (job.scale / job.softcap) : down * (job.scale * kLog2E)};
}

// The part of a row that a quad of lanes holds after the last key. nan_columns: a bit per dimension
// in which a value of V is not finite; the result is NaN there.
struct FinishedRow {
  int row;          // row of the tile
  float sum, peak;  // over the keys of all four lanes
  const std::uint32_t* nan_columns;
};

// value(n, i): this lane's sum of dimension n * 8 + quad * 2 + i, not yet divided.
template <typename Traits, typename Value>
__device__ void write_row(const PrefillJob& job, const PrefillTile& tile, const FinishedRow& done,
                          const Value& value) {
  const int quad = static_cast<int>(threadIdx.x & 3u);
  const std::size_t head = head_of_row(job, tile, done.row);
  const float inverse = done.sum == 0.0f ? 0.0f : 1.0f / done.sum;
  const float shift = Traits::kIsHalf ? 15.0f : 0.0f;
  if (quad == 0) {
    job.lse[head] = done.sum == 0.0f ? -INFINITY : (done.peak + (log2f(done.sum) - shift)) * kLn2;
  }
  float* to = job.o + head * static_cast<std::size_t>(job.head_dim);
#pragma unroll
  for (int n = 0; n < Traits::kDim / 8; ++n) {
    const int column = n * 8 + quad * 2;
    const std::uint32_t nan_columns = done.nan_columns[column / 32] >> (column % 32);
    const float low = nan_columns & 1u ? NAN : value(n, 0) * inverse;
    const float high = nan_columns & 2u ? NAN : value(n, 1) * inverse;
    if (job.stores_pairs) {
      if (column < job.head_dim) *reinterpret_cast<float2*>(to + column) = make_float2(low, high);
    } else {
      if (column < job.head_dim) to[column] = low;
      if (column + 1 < job.head_dim) to[column + 1] = high;
    }
  }
}

}  // namespace tandem::gpu_kernels
