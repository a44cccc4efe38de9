// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of a block of the Hopper prefill kernel: its layout, the copies of q, K and V into
// it, and the removal of values of V that are not finite.
//
// Rows of 16-bit operands have the layout of wgmma.cuh: groups of 64 columns, each with all rows.
// Tiles of 128 tokens begin at a multiple of 16 tokens of the sequence, so sixteen tokens are in
// one page (of the pool or the workspace). One copy brings a group of their columns. A tile of K
// takes at most 16 copies, one per lane, and so does a tile of V. The first and the last tile also
// hold tokens that no row sees: others of the page, or the last sixteen again. Copies of a tile
// start when all warps have finished the tile two before. Each tile has barriers: full (copied),
// checked (V only), empty (both warpgroups have finished).
#pragma once

#include "attention/prefill_rows.cuh"
#include "common/bulk_copy.cuh"
#include "common/tensor_copy.cuh"
#include "common/wgmma.cuh"

namespace tandem::gpu_kernels {

inline constexpr int kHopperThreads = 384;  // a warpgroup that copies and two that multiply
inline constexpr int kHopperStages = 2;
inline constexpr int kGroupRows = 64;  // query heads of a warpgroup
inline constexpr int kCopyTokens = 16;
inline constexpr unsigned kCheckingWarps = 3, kMultiplyingWarps = 8;

template <typename OperandType, int kWidth, bool kIsExact, bool kHasCap>
struct HopperTraits {
  using Operand = OperandType;
  static constexpr bool kIsHalf = std::is_same_v<Operand, Half>;
  static constexpr bool kCaps = kHasCap;
  static constexpr int kDim = kWidth;              // 64 or 128
  static constexpr int kGroups = kDim / 64;        // groups of 64 columns
  static constexpr int kParts = kIsExact ? 2 : 1;  // parts into which q and probabilities are split
  static constexpr int kRows = 2 * kGroupRows;
  static constexpr int kKeys = kHopperTileKeys;
  static constexpr int kQueryBytes = kGroupRows * kSharedRowBytes;  // bytes of 64 columns of q
  static constexpr int kKeyBytes = kKeys * kSharedRowBytes;         // the same
  static constexpr unsigned kTileBytes = kGroups * kKeyBytes;
};

struct TurnBarriers {
  Barrier full[kHopperStages], empty[kHopperStages];
};

template <typename Traits>
struct HopperShared {
  unsigned char q[Traits::kParts][2][Traits::kGroups][Traits::kQueryBytes];
  unsigned char k[kHopperStages][Traits::kGroups][Traits::kKeyBytes];
  unsigned char v[kHopperStages][Traits::kGroups][Traits::kKeyBytes];
  TurnBarriers k_turns, v_turns;
  Barrier v_checked[kHopperStages];
  float factors[Traits::kRows];
  SeenTokens seen[Traits::kRows];
  std::uint32_t nan_columns[Traits::kRows][Traits::kDim / 32];  // columns of O that are NaN
};
// The struct begins at the first multiple of 1,024 of the block's shared memory.
template <typename Traits>
inline constexpr std::size_t kHopperBlockBytes = sizeof(HopperShared<Traits>) + 1024 - 16;

// A tile of the walk over keys.
struct HopperTurn {
  int index, first_key;
  __device__ int stage() const { return index % kHopperStages; }
  // The parity of full and checked barriers; empty ones are one turn late.
  __device__ unsigned parity() const { return static_cast<unsigned>(index / kHopperStages) & 1u; }
};

// First token of the walk over the keys of a tile, and its number of turns.
struct HopperWalk {
  int begin, num_turns;
  __device__ HopperTurn turn(int index) const { return {index, begin + index * kHopperTileKeys}; }
};
__device__ inline HopperWalk walk_of(const PrefillTile& tile) {
  const int begin = tile.kv_begin / kCopyTokens * kCopyTokens;
  const int keys = tile.kv_begin < tile.kv_end ? tile.kv_end - begin : 0;
  return {begin, (keys + kHopperTileKeys - 1) / kHopperTileKeys};
}

template <typename Traits>
__device__ void prepare_barriers(HopperShared<Traits>& shared) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kHopperStages; ++stage) {
      init_barrier(shared.k_turns.full[stage], 1);
      init_barrier(shared.v_turns.full[stage], 1);
      init_barrier(shared.k_turns.empty[stage], kMultiplyingWarps);
      init_barrier(shared.v_turns.empty[stage], kMultiplyingWarps);
      init_barrier(shared.v_checked[stage], kCheckingWarps);
    }
    publish_barriers();
  }
}

// Converts query heads into operands, one row per warp at a time. Columns from head_dim on are 0.
template <typename Traits>
__device__ void load_queries(const PrefillJob& job, const PrefillTile& tile,
                             HopperShared<Traits>& shared) {
  constexpr int kWarps = kHopperThreads / 32;
  const int lane = static_cast<int>(threadIdx.x & 31u);
#pragma unroll 4
  for (int row = static_cast<int>(threadIdx.x / 32u); row < Traits::kRows; row += kWarps) {
    const bool is_row = (tile.first + row) / job.group < tile.num_q;
    const float* from =
        job.q + head_of_row(job, tile, row) * static_cast<std::size_t>(job.head_dim);
    float values[Traits::kGroups][2];
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < Traits::kGroups * 2; ++i) {
      const int column = i / 2 * 64 + lane * 2 + i % 2;
      const float value = is_row && column < job.head_dim ? from[column] : 0.0f;
      values[i / 2][i % 2] = value;
      largest = fmaxf(largest, fabsf(value));
    }
    const RowScale scale =
        row_scale<Traits::kIsHalf>(job, Traits::kIsHalf ? warp_max(largest) : 0.0f);
    if (lane == 0) shared.factors[row] = scale.of_products;
#pragma unroll
    for (int group = 0; group < Traits::kGroups; ++group) {
      std::uint32_t parts[2];
      split<typename Traits::Operand>(values[group][0] * scale.of_query,
                                      values[group][1] * scale.of_query, parts[0], parts[1]);
#pragma unroll
      for (int part = 0; part < Traits::kParts; ++part) {
        unsigned char* to =
            shared.q[part][row / kGroupRows][group] + swizzled_offset(row % kGroupRows, lane * 2);
        *reinterpret_cast<std::uint32_t*>(to) = parts[part];
      }
    }
  }
}

template <typename Traits>
__device__ void find_seen(const PrefillJob& job, const PrefillTile& tile,
                          HopperShared<Traits>& shared) {
  if (threadIdx.x >= Traits::kRows) return;
  shared.seen[threadIdx.x] = seen_by_row(job, tile, static_cast<int>(threadIdx.x));
  for (std::uint32_t& word : shared.nan_columns[threadIdx.x]) word = 0;
}

// The row of K in the pool from which the lane copies in a turn. The row of V is v_rows after it.
template <typename Traits>
__device__ int find_row(const PrefillJob& job, const PrefillTile& tile, const HopperTurn& turn) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const int last = (tile.kv_end - 1) / kCopyTokens * kCopyTokens;
  const int token = min(turn.first_key + lane / Traits::kGroups * kCopyTokens, last);
  const bool paged = job.pages != nullptr;
  const int at = paged ? token : tile.origin + token;  // the workspace's pages are in order
  const int index = at >> job.page_shift;
  const int page = paged ? static_cast<int>(job.pages[tile.origin + index]) : index;
  const int head = page * 2 * job.kv_heads + static_cast<int>(blockIdx.y);
  return (head << job.page_shift) + (at & ((1 << job.page_shift) - 1));
}

// Copies a tile of K or of V; one warp.
template <typename Traits>
__device__ void copy_tile(const TensorMap& map, const HopperTurn& turn, int row,
                          unsigned char (&to)[kHopperStages][Traits::kGroups][Traits::kKeyBytes],
                          TurnBarriers& barriers) {
  const int lane = static_cast<int>(threadIdx.x & 31u), stage = turn.stage();
  if (turn.index >= kHopperStages) wait_barrier(barriers.empty[stage], turn.parity() ^ 1u);
  if (lane == 0) arrive_expecting(barriers.full[stage], Traits::kTileBytes);
  __syncwarp();
  if (lane < Traits::kGroups * Traits::kKeys / kCopyTokens) {
    const int group = lane % Traits::kGroups, first = lane / Traits::kGroups * kCopyTokens;
    copy_box(to[stage][group] + first * kSharedRowBytes, map, group * 64, row,
             barriers.full[stage]);
  }
}

// Bit i: whether token first + i is in `seen`, i < 32.
__device__ inline std::uint32_t seen_bits(int first, SeenTokens seen) {
  const auto below = [first](int token) {
    const int count = token - first;
    return count >= 32 ? ~0u : (1u << max(count, 0)) - 1;
  };
  return below(seen.end) & ~below(seen.begin);
}

// Makes values that are not finite 0 in eight columns of V, and marks the rows that see them.
// `value` points to the first of these columns at the lane's key `key`.
template <typename Traits>
__device__ void hide_bad_values(HopperShared<Traits>& shared, int first_key, int first_column,
                                std::uint16_t* values) {
  constexpr std::uint16_t kExponent = Traits::kIsHalf ? 0x7c00 : 0x7f80;
  const int lane = static_cast<int>(threadIdx.x & 31u);
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    const int column = first_column + i;
    const bool is_bad = (values[i] & kExponent) == kExponent;
    const std::uint32_t bad = __ballot_sync(kAllLanes, is_bad);
    if (is_bad) values[i] = 0;
    for (int row = lane; row < Traits::kRows && bad != 0; row += 32) {
      if (bad & seen_bits(first_key, shared.seen[row])) {
        atomicOr(&shared.nan_columns[row][column / 32], 1u << (column % 32));
      }
    }
  }
}

// Looks for values that are not finite in a tile of V. The warps `warp` of kCheckingWarps share the
// work. Only tiles that not all rows see need this: there a weight of 0 would not hide a NaN.
template <typename Traits>
__device__ void find_bad_values(HopperShared<Traits>& shared, const HopperTurn& turn, int warp) {
  constexpr std::uint32_t kExponent = Traits::kIsHalf ? 0x7c00 : 0x7f80;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const auto is_bad = [](std::uint32_t pair) {
    return (pair & kExponent) == kExponent || (pair >> 16 & kExponent) == kExponent;
  };
#pragma unroll 1
  for (int chunk = warp; chunk < Traits::kDim / 8; chunk += static_cast<int>(kCheckingWarps)) {
#pragma unroll 1
    for (int first = 0; first < Traits::kKeys; first += 32) {
      unsigned char* at =
          shared.v[turn.stage()][chunk / 8] + swizzled_offset(first + lane, chunk % 8 * 8);
      const uint4 eight = *reinterpret_cast<const uint4*>(at);
      const bool found = is_bad(eight.x) || is_bad(eight.y) || is_bad(eight.z) || is_bad(eight.w);
      if (__ballot_sync(kAllLanes, found) == 0) continue;
      hide_bad_values(shared, turn.first_key + first, chunk * 8,
                      reinterpret_cast<std::uint16_t*>(at));
    }
  }
  publish_stores();
}

}  // namespace tandem::gpu_kernels
