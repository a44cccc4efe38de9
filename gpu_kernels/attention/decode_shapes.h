// SPDX-License-Identifier: Apache-2.0
//
// Sizes shared by the decode kernels and their plan: tiles of 16 tokens in shared memory, tiles per
// warp, and the memory of a block.
//
// A tile is K [16, width] and V the same. Rows are padded to an odd number of 16-byte lines, so
// that eight rows begin in different banks; in 8-bit types the 16 scales follow. Each of four warps
// holds decode_stages() tiles, two or three, in at most 72 KiB if possible. Two to four blocks on a
// multiprocessor then have about 100 KB in flight, several times the amount that hides the latency
// of device memory. Host and device, constants only.
#pragma once

#include <cstddef>

#include "kv_cache/kv_pool.h"

namespace tandem::gpu_kernels {

inline constexpr int kDecodeWarps = 4;
inline constexpr int kDecodeThreads = 32 * kDecodeWarps;
inline constexpr int kTileTokens = 16;
inline constexpr int kStageTokens = kDecodeWarps * kTileTokens;

__host__ __device__ constexpr int tile_row_bytes(KvType type, int width) {
  return ((width * value_bytes_of(type) / 16) | 1) * 16;
}
// K or V of a tile.
__host__ __device__ constexpr int half_tile_bytes(KvType type, int width) {
  return kTileTokens * tile_row_bytes(type, width) + (has_scales(type) ? kTileTokens * 4 : 0);
}
__host__ __device__ constexpr int decode_stages(KvType type, int width) {
  return 3 * kDecodeWarps * 2 * half_tile_bytes(type, width) <= 72 * 1024 ? 3 : 2;
}
// The number of 16-bit parts into which q is split.
__host__ __device__ constexpr int query_parts(KvType type) { return type == KvType::kBF16 ? 3 : 2; }

// Offsets of the parts of a block's shared memory.
struct DecodeShared {
  int queries = 0;  // after the tiles: fragments of q
  int units = 0;    // [item_rows] f32: the factors that turn sums into scores
  int stats = 0;    // [warps, 2, 16] f32: peak and sum of a warp's rows, then [warps]: unit of V
  int bytes = 0;
};
__host__ __device__ constexpr DecodeShared decode_shared(KvType type, int width, int item_rows) {
  DecodeShared at;
  at.queries = decode_stages(type, width) * kDecodeWarps * 2 * half_tile_bytes(type, width);
  at.units = at.queries + item_rows * width * query_parts(type) * 2;
  at.stats = at.units + item_rows * 4;
  at.bytes = at.stats + kDecodeWarps * (2 * 16 + 1) * 4;
  return at;
}

// Query heads of a warp: tiles of eight; two where an item has up to 64.
__host__ __device__ constexpr int row_tiles_of(int item_rows) { return item_rows > 32 ? 2 : 1; }

// The Hopper path (decode_bulk.cuh): a ring of stages of 64 tokens. K and V are eight runs of eight
// tokens each, in the order of the pool. Each run begins 16 bytes further in the banks than the
// previous one.
inline constexpr int kRunTokens = 8, kRuns = kStageTokens / kRunTokens;
// four warps that compute and one that copies
inline constexpr int kBulkThreads = kDecodeThreads + 32;
inline constexpr int kMostBulkStages = 4;

__host__ __device__ constexpr int run_row_bytes(KvType type, int width) {
  return width * value_bytes_of(type);
}
__host__ __device__ constexpr int run_stride(KvType type, int width) {
  return kRunTokens * run_row_bytes(type, width) + 16;
}

// Offsets of the parts of a stage: K's runs, V's, their scales.
struct BulkStage {
  int v = 0, k_scales = 0, v_scales = 0, bytes = 0;
};
__host__ __device__ constexpr BulkStage bulk_stage(KvType type, int width, int row_tiles) {
  BulkStage at;
  at.v = kRuns * run_stride(type, width);
  at.k_scales = 2 * at.v;
  at.v_scales = at.k_scales + (has_scales(type) ? kStageTokens * 4 : 0);
  at.bytes = at.v_scales + (has_scales(type) ? kStageTokens * 4 : 0);
  const int o_bytes = kDecodeThreads / 32 * 8 * row_tiles * width * 4;  // an item's end
  if (at.bytes < o_bytes) at.bytes = o_bytes;
  return at;
}

// A block's shared memory: the ring, then the parts of DecodeShared, then the barriers: a full one
// and an empty one per stage.
struct BulkShared {
  int stage_bytes = 0;
  int queries = 0, units = 0, stats = 0, barriers = 0;
  int bytes = 0;
};
__host__ __device__ constexpr BulkShared bulk_shared(KvType type, int width, int item_rows,
                                                     int stages) {
  BulkShared at;
  at.stage_bytes = bulk_stage(type, width, row_tiles_of(item_rows)).bytes;
  at.queries = stages * at.stage_bytes;
  at.units = at.queries + item_rows * width * query_parts(type) * 2;
  at.stats = at.units + item_rows * 4;
  at.barriers = (at.stats + kDecodeWarps * (2 * 16 + 1) * 4 + 7) / 8 * 8;
  at.bytes = at.barriers + 2 * kMostBulkStages * 8;
  return at;
}

// The number of blocks on a multiprocessor, and of stages per block: as many blocks of three stages
// as its registers and shared memory hold, else one block of two stages, else none.
struct BulkResidency {
  int blocks = 0, stages = 0;
};
constexpr BulkResidency bulk_residency(KvType type, int width, int item_rows, int shared_bytes,
                                       int reserve_per_block) {
  const int row_tiles = row_tiles_of(item_rows), values = width * row_tiles;
  const int most = values <= 80 ? 4 : values <= 128 && row_tiles == 1 ? 3 : values < 256 ? 2 : 1;
  for (int blocks = most; blocks > 0; --blocks) {
    const int room = shared_bytes / blocks - reserve_per_block;
    int stages = kMostBulkStages;
    while (stages > 0 && bulk_shared(type, width, item_rows, stages).bytes > room) --stages;
    if (stages >= (blocks > 1 ? 3 : 2)) return {blocks, stages};
  }
  return {};
}

// Blocks that a multiprocessor's registers hold.
constexpr int resident_blocks(int width, int row_tiles) { return width * row_tiles > 128 ? 2 : 4; }

}  // namespace tandem::gpu_kernels
