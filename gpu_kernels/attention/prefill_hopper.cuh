// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel of Hopper GPUs: as prefill_kernel.cuh, with warpgroup products over tiles that
// are copied in bulk.
//
// A block is three warpgroups: one copies and checks (prefill_hopper_tiles.cuh), two hold 64 query
// heads each. q, K and V are read from shared memory, probabilities from registers. The layout of a
// thread is that of wgmma.cuh. Let g = lane / 4, t = lane % 4, and w the warp in its group. A
// thread has heads 16 w + g and 16 w + g + 8 (index `half` 0 and 1). Of every eight tokens (or
// columns of O) it has 2t and 2t + 1.
#pragma once

#include "attention/prefill_hopper_tiles.cuh"
#include "common/launch.cuh"
#include "common/warp_arrival.cuh"

namespace tandem::gpu_kernels {

// A thread's part of two query heads.
// The products of the scores of a tile run while the value products of the tile before are queued,
// and softmax of a tile runs beside these value products. So 232 registers per thread hold O,
// scores and (exact) two parts of the probabilities.
// Matrix arithmetic is the limit. For both warpgroups a tile of 128 tokens of 128 values has 2 x 16
// (exact: 2 x 32) products of 64 x 128 x 16, which take 2,048 (4,096) cycles; it has 16,384
// exponentials and 64 KiB of copies.
template <typename Traits>
struct HopperRows {
  float o[Traits::kDim / 2];
  float peak[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0f, 0.0f};  // sums of the weights that this thread holds
};

// The probabilities: [parts][groups of sixteen tokens].
template <typename Traits>
using HopperWeights = std::uint32_t[Traits::kParts][Traits::kKeys / 16][4];

using HopperScores = float[kHopperTileKeys / 2];

// Which of the two multiplying warpgroups the thread is in. A shuffle tells the compiler that the
// value is the same for the whole warp, as operand addresses must be.
__device__ inline int multiplying_group() {
  return __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 128u), 0) - 1;
}
// The first of the thread's rows of the tile.
__device__ inline int first_row() {
  return static_cast<int>((threadIdx.x - 128) / 32 * 16 + threadIdx.x % 32 / 4);
}

// Starts scores = q k^T.
template <typename Traits>
__device__ void begin_scores(const HopperShared<Traits>& shared, int group, int stage,
                             HopperScores& scores) {
  using Operand = typename Traits::Operand;
  const SharedMatrix k = shared_matrix(shared.k[stage][0]);
#pragma unroll
  for (int d = 0; d < Traits::kDim; d += 16) {
#pragma unroll
    for (int part = Traits::kParts - 1; part >= 0; --part) {
      const SharedMatrix q = shared_matrix(shared.q[part][group][d / 64]);
      multiply_shared<Operand, Major::kDepth>(scores, advance(q, d % 64 * 2),
                                              advance(k, d / 64 * Traits::kKeyBytes + d % 64 * 2),
                                              d > 0 || part < Traits::kParts - 1);
    }
  }
  commit_products();
}

// Starts o += weights v.
template <typename Traits>
__device__ void begin_values(const HopperShared<Traits>& shared, int stage,
                             const HopperWeights<Traits>& weights, float (&o)[Traits::kDim / 2]) {
  using Operand = typename Traits::Operand;
  const SharedMatrix v = shared_matrix(shared.v[stage][0], Traits::kKeyBytes);
#pragma unroll
  for (int step = 0; step < Traits::kKeys / 16; ++step) {
#pragma unroll
    for (int part = Traits::kParts - 1; part >= 0; --part) {
      multiply_registers<Operand, Major::kColumns>(o, weights[part][step],
                                                   advance(v, step * 16 * kSharedRowBytes));
    }
  }
  commit_products();
}

// Turns products into scores in units of ln 2: scales and caps them; -inf where a head does not see
// the token.
template <typename Traits>
__device__ void scale_scores(const PrefillJob& job, const HopperShared<Traits>& shared, int group,
                             int first_key, HopperScores& scores) {
  const int quad = static_cast<int>(threadIdx.x & 3u);
  const float factor[2] = {shared.factors[first_row()], shared.factors[first_row() + 8]};
#pragma unroll
  for (int i = 0; i < Traits::kKeys / 2; ++i) scores[i] *= factor[i % 4 / 2];
  if constexpr (Traits::kCaps) {
    const float cap = job.softcap * kLog2E;
#pragma unroll
    for (int i = 0; i < Traits::kKeys / 2; ++i) scores[i] = cap * tanhf(scores[i]);
  }
  const SeenTokens* rows = shared.seen + group * kGroupRows;
  if (!holds_keys<Traits::kKeys>(seen_by_all(rows, rows + kGroupRows - 1), first_key)) {
    const SeenTokens seen[2] = {shared.seen[first_row()], shared.seen[first_row() + 8]};
#pragma unroll
    for (int i = 0; i < Traits::kKeys / 2; ++i) {
      const int token = first_key + i / 4 * 8 + quad * 2 + i % 2;
      const SeenTokens& of_row = seen[i % 4 / 2];
      scores[i] = token >= of_row.begin && token < of_row.end ? scores[i] : -INFINITY;
    }
  }
}

// Turns scores into weights relative to the new peak. Returns the factors for O.
template <typename Traits>
__device__ float2 weigh(HopperRows<Traits>& rows, HopperScores& scores) {
  float base[2], rescale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float peak = rows.peak[half];
#pragma unroll
    for (int i = 0; i < Traits::kKeys / 4; ++i) {
      peak = fmaxf(peak, scores[i / 2 * 4 + half * 2 + i % 2]);
    }
    peak = warp_max<1, 2>(peak);
    base[half] = peak == -INFINITY ? 0.0f : peak;
    rescale[half] = exp2f(rows.peak[half] - base[half]);
    rows.peak[half] = peak;
    rows.sum[half] *= rescale[half];
    if constexpr (Traits::kIsHalf) base[half] -= 15.0f;
  }
#pragma unroll
  for (int i = 0; i < Traits::kKeys / 2; ++i) {
    scores[i] = exp2f(scores[i] - base[i % 4 / 2]);
    rows.sum[i % 4 / 2] += scores[i];
  }
  return make_float2(rescale[0], rescale[1]);
}

// Packs weights into operands.
template <typename Traits>
__device__ void pack_weights(const HopperScores& scores, HopperWeights<Traits>& weights) {
#pragma unroll
  for (int i = 0; i < Traits::kKeys / 4; ++i) {
    std::uint32_t parts[2];
    split<typename Traits::Operand>(scores[i * 2], scores[i * 2 + 1], parts[0], parts[1]);
#pragma unroll
    for (int part = 0; part < Traits::kParts; ++part) weights[part][i / 4][i % 4] = parts[part];
  }
}

template <typename Traits>
__device__ void wait_for_values(HopperShared<Traits>& shared, const HopperTurn& turn) {
  wait_barrier(shared.v_turns.full[turn.stage()], turn.parity());
  wait_barrier(shared.v_checked[turn.stage()], turn.parity());
}

// Turns whose tokens no row of the warpgroup sees.
template <typename Traits>
__device__ void pass_over(HopperShared<Traits>& shared, const HopperWalk& walk, int first,
                          int past) {
#pragma unroll 1
  for (int index = first; index < past; ++index) {
    const HopperTurn turn = walk.turn(index);
    wait_barrier(shared.k_turns.full[turn.stage()], turn.parity());
    arrive_warp(shared.k_turns.empty[turn.stage()]);
    wait_for_values(shared, turn);
    arrive_warp(shared.v_turns.empty[turn.stage()]);
  }
}

// The turns [first, past) in which a warpgroup multiplies.
struct GroupTurns {
  int group, first, past;
};

// There is at least one turn.
template <typename Traits>
__device__ void attend(const PrefillJob& job, HopperShared<Traits>& shared, const HopperWalk& walk,
                       const GroupTurns& of, HopperRows<Traits>& rows) {
  HopperScores scores;
  HopperWeights<Traits> weights;
  HopperTurn turn = walk.turn(of.first);
  wait_barrier(shared.k_turns.full[turn.stage()], turn.parity());
  open_products();
  begin_scores(shared, of.group, turn.stage(), scores);
  wait_products<0>(scores);
  arrive_warp(shared.k_turns.empty[turn.stage()]);
  scale_scores(job, shared, of.group, turn.first_key, scores);
  weigh(rows, scores);
  pack_weights<Traits>(scores, weights);
#pragma unroll 1
  for (int index = of.first + 1; index < of.past; ++index) {
    const HopperTurn before = turn;
    turn = walk.turn(index);
    wait_for_values(shared, before);  // first, because no wait may stand between the products
    wait_barrier(shared.k_turns.full[turn.stage()], turn.parity());
    open_products();
    begin_scores(shared, of.group, turn.stage(), scores);
    begin_values(shared, before.stage(), weights, rows.o);
    wait_products<1>(scores);
    arrive_warp(shared.k_turns.empty[turn.stage()]);
    scale_scores(job, shared, of.group, turn.first_key, scores);
    const float2 rescale = weigh(rows, scores);
    wait_products<0>(rows.o, scores);  // the scores, so that they are packed after these products
    arrive_warp(shared.v_turns.empty[before.stage()]);
#pragma unroll
    for (int i = 0; i < Traits::kDim / 2; ++i) rows.o[i] *= i % 4 < 2 ? rescale.x : rescale.y;
    pack_weights<Traits>(scores, weights);
  }
  wait_for_values(shared, turn);
  open_products();
  begin_values(shared, turn.stage(), weights, rows.o);
  wait_products<0>(rows.o);
  arrive_warp(shared.v_turns.empty[turn.stage()]);
}

template <typename Traits>
__device__ void write_result(const PrefillJob& job, const PrefillTile& tile,
                             const HopperShared<Traits>& shared, const HopperRows<Traits>& rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = warp_sum<1, 2>(rows.sum[half]);
    const int row = first_row() + half * 8;
    if ((tile.first + row) / job.group >= tile.num_q) continue;
    write_row<Traits>(job, tile, {row, sum, rows.peak[half], shared.nan_columns[row]},
                      [&](int n, int i) { return rows.o[n * 4 + half * 2 + i]; });
  }
}

// The work of a multiplying warpgroup.
template <typename Traits>
__device__ void multiply_tiles(const PrefillJob& job, const PrefillTile& tile,
                               HopperShared<Traits>& shared) {
  const HopperWalk walk = walk_of(tile);
  const int group = multiplying_group(), group_row = group * kGroupRows;
  const SeenTokens seen =
      seen_by_some(shared.seen + group_row, shared.seen + group_row + kGroupRows - 1);
  GroupTurns of{group, 0, 0};
  if (tile.first + group_row < tile.num_q * job.group && seen.begin < seen.end) {
    of.first = (seen.begin - walk.begin) / kHopperTileKeys;
    of.past = (seen.end - walk.begin + kHopperTileKeys - 1) / kHopperTileKeys;
  }
  HopperRows<Traits> rows;
#pragma unroll
  for (float& value : rows.o) value = 0.0f;
  pass_over(shared, walk, 0, of.first);
  if (of.first < of.past) attend(job, shared, walk, of, rows);
  pass_over(shared, walk, of.past, walk.num_turns);
  write_result(job, tile, shared, rows);
}

// The work of the warpgroup that copies and checks. The copies of the first turn have been started.
template <typename Traits>
__device__ void fetch_tiles(const PrefillJob& job, const PrefillTile& tile, const TensorMap& map,
                            HopperShared<Traits>& shared) {
  const HopperWalk walk = walk_of(tile);
  const int warp = static_cast<int>(threadIdx.x / 32u);
  if (warp == 0) {
#pragma unroll 1
    for (int index = 1; index < walk.num_turns; ++index) {
      const HopperTurn turn = walk.turn(index);
      const int row = find_row<Traits>(job, tile, turn);
      copy_tile<Traits>(map, turn, row, shared.k, shared.k_turns);
      copy_tile<Traits>(map, turn, row + static_cast<int>(job.v_rows), shared.v, shared.v_turns);
    }
    return;
  }
#pragma unroll 1
  for (int index = 0; index < walk.num_turns; ++index) {
    const HopperTurn turn = walk.turn(index);
    const SeenTokens by_all = seen_by_all(shared.seen, shared.seen + Traits::kRows - 1);
    wait_barrier(shared.v_turns.full[turn.stage()], turn.parity());
    if (!holds_keys<Traits::kKeys>(by_all, turn.first_key)) {
      find_bad_values(shared, turn, warp - 1);
    }
    arrive_warp(shared.v_checked[turn.stage()]);
  }
}

template <typename Traits>
__global__ __launch_bounds__(kHopperThreads,
                             1) void prefill_hopper_tile(const PrefillJob job,
                                                         const __grid_constant__ TensorMap map) {
  let_next_start();
  unsigned char* at = dynamic_shared();
  at += (1024 - shared_address(at) % 1024) % 1024;
  auto& shared = *reinterpret_cast<HopperShared<Traits>*>(at);
  prepare_barriers(shared);
  wait_for_previous();
  const PrefillTile tile = job.tiles[blockIdx.x];
  if (tile.num_q == 0) return;
  __syncthreads();
  if (threadIdx.x < 32 && tile.kv_begin < tile.kv_end) {
    order_stores_before_copies();  // stores of earlier kernels
    const HopperTurn turn = walk_of(tile).turn(0);
    const int row = find_row<Traits>(job, tile, turn);
    copy_tile<Traits>(map, turn, row, shared.k, shared.k_turns);
    copy_tile<Traits>(map, turn, row + static_cast<int>(job.v_rows), shared.v, shared.v_turns);
  }
  load_queries(job, tile, shared);
  find_seen(job, tile, shared);
  publish_stores();
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<40>();
    fetch_tiles(job, tile, map, shared);
  } else {
    take_registers<232>();
    multiply_tiles(job, tile, shared);
  }
}

}  // namespace tandem::gpu_kernels
