// SPDX-License-Identifier: Apache-2.0
//
// What the prefill kernels say of query heads in the same way: which tokens each sees, where it
// stands, by what its values are scaled.
//
// Tile row r of a KV head is query head r % group of the sequence's row r / group (prefill_plan.h).
// Both ends of what rows see grow with the row.
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

// Of a row of the tile; those behind the sequence's last see what it sees.
__device__ inline SeenTokens seen_by_row(const PrefillJob& job, const PrefillTile& tile, int row) {
  const int token = min((tile.first + row) / job.group, tile.num_q - 1);
  SeenTokens seen{tile.kv_begin, tile.kv_end};
  if (job.causal) seen = {job.window > 0 ? max(0, token + 1 - job.window) : 0, token + 1};
  return seen;
}

// What some and what all of several rows see.
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

// By what q of a row is multiplied, and products of it with k to make them scores.
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

}  // namespace tandem::gpu_kernels
