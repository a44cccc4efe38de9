// SPDX-License-Identifier: Apache-2.0
//
// The Hopper path of decode attention: a fifth warp copies K and V in bulk, item after item, while
// four warps compute as in decode_kernel.cuh, from the same plan.
//
// A stage has 64 tokens. It takes 16 bulk copies: eight runs of eight tokens of K and of V (2 KiB
// each for 128 f16 values; half a page of 16 tokens). 8-bit types add eight copies of 64 bytes of
// scales. Full barriers count the bytes of a stage, empty barriers the four warps. The loop has no
// barrier of the whole block, so the copying warp runs ahead into the next items. Tokens that an
// item does not see are not copied: their rows of V are written as zeros. The results of the warps
// of an item are joined in the memory of its last stage. Whether this path is faster than the
// generic one is not measured.
#pragma once

#include "attention/decode_join.cuh"
#include "common/bulk_copy.cuh"
#include "common/launch.cuh"
#include "common/shared_limit.h"
#include "common/warp_arrival.cuh"

namespace tandem::gpu_kernels {

// The current stage of the ring, and the parity of its phase.
struct RingTurn {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance(int num_stages) {
    if (++stage < num_stages) return;
    stage = 0;
    parity ^= 1u;
  }
};

// Rows in shared memory have no padding, so ldmatrix of eight neighbouring rows would meet one
// bank. Therefore a tile of 16 tokens takes two rows of each run, and runs are 16 bytes apart in
// their banks.
// Number of stages, for 128 values, items of 8 query heads, and an H200, where a multiprocessor
// reads 36 bytes per ns: a latency of 600 to 1,000 ns needs 22 to 36 KB in flight. 16 bits: a stage
// has 33 KB, and 3 stages of 2 blocks are 198 KB. 8 bits: 17 KB, and 4 stages of 3 blocks are 206
// KB. Of the 209 KB of the generic path half is in use for reading, and the end of an item empties
// a block's part.
// Instructions: the compiler's output has some 1,980 warp instructions per stage (generic path:
// 2,380) for 16 bits, where a multiprocessor issues 6,400 while 33 KB arrive. For 8 bits it has
// 2,610 (generic: 2,810) of 3,300, because widening bytes costs more than copies. The copy engine
// starts one run per 57 ns (8 bits: 24 copies, one per 20 ns).
struct BulkRing {
  unsigned char* shared;
  BulkShared at;
  int num_stages;
  __device__ unsigned char* stage(const RingTurn& turn) const {
    return shared + turn.stage * at.stage_bytes;
  }
  __device__ Barrier& full(const RingTurn& turn) const {
    return reinterpret_cast<Barrier*>(shared + at.barriers)[turn.stage];
  }
  __device__ Barrier& empty(const RingTurn& turn) const {
    return reinterpret_cast<Barrier*>(shared + at.barriers)[kMostBulkStages + turn.stage];
  }
};

// An item without tokens has a stage without copies.
__device__ inline ItemWalk bulk_walk(const DecodeItem& item) {
  ItemWalk walk{item, item.token_begin / kTileTokens * kTileTokens};
  walk.num_stages = (item.token_end - walk.base + kStageTokens - 1) / kStageTokens;
  if (item.token_begin >= item.token_end) walk.num_stages = 1;
  return walk;
}

// Clears the rows of V that the item does not see, in the stage that begins at token `first`.
template <KvType kType, int kWidth>
__device__ void clear_unseen(int first, int begin, int end, unsigned char* v) {
  constexpr int kChunks = run_row_bytes(kType, kWidth) / 16;
  for (int i = static_cast<int>(threadIdx.x & 31u); i < kStageTokens * kChunks; i += 32) {
    const int token = i / kChunks;
    if (first + token >= begin && first + token < end) continue;
    unsigned char* row = v + token / kRunTokens * run_stride(kType, kWidth) +
                         token % kRunTokens * run_row_bytes(kType, kWidth);
    *reinterpret_cast<uint4*>(row + i % kChunks * 16) = make_uint4(0, 0, 0, 0);
  }
}

// Starts the copies of a stage. `page`: the page of the lane's run (lanes 0..15: K's, then V's) or
// of its 16 scales (lanes 16..23).
template <KvType kType, int kWidth, int kRowTiles>
__device__ void bring_stage(const DecodeLaunch& job, const DecodeItem& item, int first,
                            std::uint32_t page, unsigned char* stage, Barrier& full) {
  constexpr BulkStage kAt = bulk_stage(kType, kWidth, kRowTiles);
  constexpr int kRowBytes = run_row_bytes(kType, kWidth);
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const int begin = max(item.token_begin, first), end = min(item.token_end, first + kStageTokens);
  const int seen = max(end - begin, 0);
  if (seen < kStageTokens) {
    clear_unseen<kType, kWidth>(first, begin, end, stage + kAt.v);
    order_stores_before_copies();
    __syncwarp();
  }
  int bytes = 2 * seen * kRowBytes;
  const int scales_begin = begin / 4 * 4, scales_end = (end + 3) / 4 * 4;  // whole lines of 16
  if (has_scales(kType) && seen > 0) bytes += 2 * (scales_end - scales_begin) * 4;
  if (lane == 0) arrive_expecting(full, static_cast<unsigned>(bytes));
  __syncwarp();
  const bool is_run = lane < 2 * kRuns;
  const int half = is_run ? lane / kRuns : lane / 4 % 2;
  const int tokens = is_run ? kRunTokens : 16,
            at = is_run ? lane % kRuns * kRunTokens : lane % 4 * 16;
  const int from = max(is_run ? begin : scales_begin, first + at);
  const int to = min(is_run ? end : scales_end, first + at + tokens);
  if (from >= to || seen == 0 || lane >= (has_scales(kType) ? 24 : 16)) return;
  const std::size_t row = kv_row(job.pool, job.layer, page, half == 1, item.kv_head,
                                 from & ((1 << job.page_shift) - 1));
  if (is_run) {
    unsigned char* run = stage + half * kAt.v + lane % kRuns * run_stride(kType, kWidth);
    copy_bulk(run + (from - first - at) * kRowBytes,
              static_cast<const unsigned char*>(job.pool.values) + row * kRowBytes,
              static_cast<unsigned>((to - from) * kRowBytes), full);
  } else {
    copy_bulk(stage + (half == 1 ? kAt.v_scales : kAt.k_scales) + (from - first) * 4,
              job.pool.scales + row, static_cast<unsigned>((to - from) * 4), full);
  }
}

// The copying warp: brings every stage of the block's items as soon as its place in the ring is
// free. It reads pages for four stages at once, eight runs of each, four stages before their use.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void bring_items(const DecodeLaunch& job, const BulkRing& ring) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const int own_run = lane < 2 * kRuns ? lane % kRuns : lane % 4 * 2;
  RingTurn turn;
  int turns = 0;
  const int end = job.block_begin[blockIdx.x + 1];
  for (int index = job.block_begin[blockIdx.x]; index < end; ++index) {
    const ItemWalk walk = bulk_walk(job.items[index]);
    const auto pages_from = [&](int stage) {
      const int token = walk.base + stage * kStageTokens + lane * kRunTokens;
      return token < walk.item.token_end
                 ? job.pages[walk.item.page_begin + (token >> job.page_shift)]
                 : 0u;
    };
    std::uint32_t pages = 0, next = pages_from(0);
    for (int stage = 0; stage < walk.num_stages; ++stage) {
      if (stage % 4 == 0) {
        pages = next;
        next = pages_from(stage + 4);
      }
      const std::uint32_t page = __shfl_sync(kAllLanes, pages, stage % 4 * kRuns + own_run);
      if (turns >= ring.num_stages) wait_barrier(ring.empty(turn), turn.parity ^ 1u);
      turns = min(turns + 1, ring.num_stages);
      bring_stage<kType, kWidth, kRowTiles>(job, walk.item, walk.base + stage * kStageTokens, page,
                                            ring.stage(turn), ring.full(turn));
      turn.advance(ring.num_stages);
    }
  }
}

// The part of an item that one computing warp does.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void attend_bulk_item(const DecodeLaunch& job, const DecodeItem& item,
                                 const BulkRing& ring, RingTurn& turn) {
  using Tile = RunTile<kType, kWidth>;
  constexpr int kRows = 8 * kRowTiles, kOBytes = kRows * kWidth * 4;
  constexpr int kQueryWords = kWidth / 16 * query_parts(kType) * 64;  // of eight rows
  constexpr int kTileRows = kTileTokens / kRuns;                      // of a run
  constexpr BulkStage kAt = bulk_stage(kType, kWidth, kRowTiles);
  const int warp = static_cast<int>(threadIdx.x / 32u);
  auto* queries = reinterpret_cast<std::uint32_t*>(ring.shared + ring.at.queries);
  auto* units = reinterpret_cast<float*>(ring.shared + ring.at.units);
  auto* stats = reinterpret_cast<float*>(ring.shared + ring.at.stats);
  ItemWalk walk = bulk_walk(item);
  while (walk.ways * kRows < item.num) walk.ways *= 2;
  prepare_queries<kType, kWidth>(job, item, (item.num + kRows - 1) / kRows * kRows, queries, units);
  sync_warps<1, kDecodeThreads>();

  const int row_group = warp % walk.ways, token_group = warp / walk.ways;
  const bool has_rows = row_group * kRows < item.num;
  RowState<kWidth, kRowTiles> state;
  start_rows(state, units + (has_rows ? row_group * kRows : 0));
  for (int stage = 0; stage < walk.num_stages; ++stage) {
    wait_barrier(ring.full(turn), turn.parity);
    const unsigned char* k = ring.stage(turn);
    for (int tile = token_group; has_rows && tile < kDecodeWarps;
         tile += kDecodeWarps / walk.ways) {
      const int at = tile * kTileRows;  // in each run
      const int row_at = at * run_row_bytes(kType, kWidth);
      const TileParts parts{k + row_at, k + kAt.v + row_at,
                            reinterpret_cast<const float*>(k + kAt.k_scales) + at,
                            reinterpret_cast<const float*>(k + kAt.v_scales) + at};
      attend_tile<Tile, kRowTiles>(job, tile_range(item, walk.base + stage * kStageTokens + at),
                                   parts, queries + row_group * kRowTiles * kQueryWords, state);
    }
    if (stage + 1 == walk.num_stages) break;
    arrive_warp(ring.empty(turn));
    turn.advance(ring.num_stages);
  }
  sync_warps<1, kDecodeThreads>();  // the last stage has been read
  unsigned char* o = ring.stage(turn);
  if (has_rows) leave_rows<kType>(state, reinterpret_cast<float*>(o + warp * kOBytes), stats);
  order_stores_before_copies();
  sync_warps<1, kDecodeThreads>();
  join_warps<kType, kWidth, kRowTiles>(job, walk, o, kOBytes, stats);
  arrive_warp(ring.empty(turn));
  turn.advance(ring.num_stages);
}

constexpr int bulk_blocks(KvType type, int width, int row_tiles) {
  return bulk_residency(type, width, row_tiles > 1 ? 64 : 8, 228 * 1024, 1024).blocks;
}

template <KvType kType, int kWidth, int kRowTiles>
__global__ __launch_bounds__(
    kBulkThreads,
    bulk_blocks(kType, kWidth,
                kRowTiles)) void decode_bulk_items(const __grid_constant__ DecodeLaunch job,
                                                   int num_stages) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  unsigned char* shared = dynamic_shared();
  const BulkRing ring{shared, bulk_shared(kType, kWidth, job.item_rows, num_stages), num_stages};
  if (threadIdx.x == 0) {
    RingTurn turn;
    for (; turn.stage < num_stages; ++turn.stage) {
      init_barrier(ring.full(turn), 1);
      init_barrier(ring.empty(turn), kDecodeWarps);
    }
    publish_barriers();
  }
  __syncthreads();
  let_next_start();
  wait_for_previous();
  if (threadIdx.x >= kDecodeThreads) {
    order_stores_before_copies();  // stores of earlier launches
    bring_items<kType, kWidth, kRowTiles>(job, ring);
  } else {
    RingTurn turn;
    const int end = job.block_begin[blockIdx.x + 1];
    for (int index = job.block_begin[blockIdx.x]; index < end; ++index) {
      attend_bulk_item<kType, kWidth, kRowTiles>(job, job.items[index], ring, turn);
    }
  }
#else
  __trap();
#endif
}

// Launches the kernel for the bucket's width and rows.
template <KvType kType>
cudaError_t launch_bulk_decode(const DecodeBucket& bucket, const DecodeLaunch& job,
                               cudaStream_t stream) {
  const auto start = [&](auto kernel) {
    const cudaError_t error = allow_and_prefer_most_shared(reinterpret_cast<const void*>(kernel));
    if (error != cudaSuccess) return error;
    return launch_shared(stream, dim3(static_cast<unsigned>(bucket.num_blocks)), kBulkThreads,
                         static_cast<unsigned>(bucket.shared_bytes), kernel, job, bucket.stages);
  };
  const bool many = row_tiles_of(bucket.item_rows) == 2;
  switch (kv_row_values(bucket.shape.head_dim)) {
    case 64:
      return many ? start(decode_bulk_items<kType, 64, 2>) : start(decode_bulk_items<kType, 64, 1>);
    case 80:
      return many ? start(decode_bulk_items<kType, 80, 2>) : start(decode_bulk_items<kType, 80, 1>);
    case 96:
      return many ? start(decode_bulk_items<kType, 96, 2>) : start(decode_bulk_items<kType, 96, 1>);
    case 128:
      return many ? start(decode_bulk_items<kType, 128, 2>)
                  : start(decode_bulk_items<kType, 128, 1>);
    case 256:
      return start(decode_bulk_items<kType, 256, 1>);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tandem::gpu_kernels
