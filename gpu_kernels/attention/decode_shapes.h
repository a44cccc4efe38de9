// SPDX-License-Identifier: Apache-2.0
//
// Sizes that the decode kernels and their plan share: tiles of 16 tokens in shared memory, how many
// of them a warp holds, and what a block needs.
//
// A tile is K [16, width] and V the same, rows padded to an odd number of 16-byte lines, so that
// eight rows begin in different banks; 8-bit types have the 16 scales behind each. Four warps each
// hold decode_stages() tiles, two or three, in at most 72 KiB where that is possible: with two to
// four blocks on a multiprocessor some 100 KB are on their way, several times what the latency of
// device memory asks for. Host and device, constants only.
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
// 16-bit parts that q is split into.
__host__ __device__ constexpr int query_parts(KvType type) { return type == KvType::kBF16 ? 3 : 2; }

// Where things stand in a block's shared memory.
struct DecodeShared {
  int queries = 0;  // behind the tiles: fragments of q
  int units = 0;    // [item_rows] f32: what turns sums into scores
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
constexpr int row_tiles_of(int item_rows) { return item_rows > 32 ? 2 : 1; }

// Blocks that a multiprocessor's registers hold.
constexpr int resident_blocks(int width, int row_tiles) { return width * row_tiles > 128 ? 2 : 4; }

}  // namespace tandem::gpu_kernels
