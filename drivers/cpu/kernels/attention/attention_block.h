// SPDX-License-Identifier: Apache-2.0
//
// One step of online-softmax attention: up to 8 query rows that share a KV head, with up to
// kMaxTiles tiles of 16 tokens.
//
// A K tile is stored by dimension, [stride, 16 tokens]: the scores of 16 tokens are one vector and
// need no sum over lanes. A V tile is stored as [stride / 64, 16 tokens, 64 dimensions]: a few
// dimensions of all tokens are contiguous. stride is head_dim rounded up to 16; the padding is
// zero. Cost: 2 * rows * stride FLOPs per token for each of K and V; each K and V value is read
// once for all rows. Threads: pure functions. Numerics: f32; slots outside [begin, end) of a tile
// are ignored and may contain any bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr int kTileTokens = 16;
inline constexpr int kMaxTiles = 4;
inline constexpr int kMaxRows = 8;

struct KvTile {
  const void* k = nullptr;         // [stride, 16]
  const void* v = nullptr;         // [16, 64] per strip
  const float* k_scale = nullptr;  // [16], kI8 and kF8E4M3 only
  const float* v_scale = nullptr;  // [16], kI8 and kF8E4M3 only
  int begin = 0, end = 0;          // the slots that are seen, in 0..16
};

inline constexpr std::size_t kStripDims = 64;

// Values per token in the strip of a V tile that holds dimension d.
inline std::size_t v_width(std::size_t stride, std::size_t d) {
  const std::size_t left = stride - d / kStripDims * kStripDims;
  return left < kStripDims ? left : kStripDims;
}

// The index of dimension d of a token in a V tile.
inline std::size_t v_index(std::size_t stride, std::size_t token, std::size_t d) {
  return d / kStripDims * kStripDims * kTileTokens + token * v_width(stride, d) + d % kStripDims;
}

// The slots of a tile that one row sees: [begin, end).
struct SlotRange {
  int begin = 0, end = kTileTokens;
};

// The running state of rows. sum adds the weights exp(score - peak), and acc adds the weighted V.
// peak is a recent maximum of the scores, not always the latest. Start: peak -inf, sum 0, acc 0.
struct AttentionRows {
  int rows = 0;              // 1..kMaxRows
  std::size_t stride = 0;    // a multiple of 16
  float softcap = 0;         // scores s become softcap * tanh(s / softcap); 0: as they are
  const float* q = nullptr;  // [rows, stride], times the softmax scale
  float* peak = nullptr;     // [rows]
  float* sum = nullptr;      // [rows, 16]: the sum of a row is the sum of its 16 lanes
  float* acc = nullptr;      // [rows, stride]
  // [rows], or null: every row sees the slots [begin, end) of the tiles. Allowed only with one
  // tile. A row may see less than the tile's [begin, end) only if V is finite there.
  const SlotRange* seen = nullptr;
};

inline constexpr int kStoredTiles = 2;  // tiles per step, of any type but f32

// num_tiles: 1 or 2; for kF32 also 4. type: kF32, kF16, kBF16, kI8 or kF8E4M3. next: the same
// number of tiles of a later step, which are prefetched during the computation; `tiles` if there
// are none. kF32 tiles are in the cache already: next is not read and may be null.
void attend_tiles(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next);

// Copies one tile as f32, with scales applied, in the same layout. Slots outside [begin, end) are
// 0.
void expand_tile(DType type, const KvTile& tile, std::size_t stride, float* k, float* v);

}  // namespace tandem::device::cpu
