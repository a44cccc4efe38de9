// SPDX-License-Identifier: Apache-2.0
//
// One step of online-softmax attention: up to 8 query rows that share a KV head against up to
// kMaxTiles tiles of 16 tokens.
//
// A K tile is stored by dimension, [stride, 16 tokens], so that a score of 16 tokens is one vector
// and needs no sum over lanes; a V tile is stored as [stride / 64, 16 tokens, 64 dimensions], so
// that a few dimensions of all tokens are one run of memory. stride is head_dim rounded up to 16,
// the padding is zero. Cost: 2 * rows * stride FLOPs per token for each of K and V; every K and V
// value is read once for all rows. Threads: pure functions. Numerics: f32 throughout; slots outside
// a tile's [begin, end) never take part, whatever bits stand there.
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

// Where dimension d of a token stands in a V tile.
inline std::size_t v_index(std::size_t stride, std::size_t token, std::size_t d) {
  return d / kStripDims * kStripDims * kTileTokens + token * v_width(stride, d) + d % kStripDims;
}

// The slots of a tile that one row sees: [begin, end).
struct SlotRange {
  int begin = 0, end = kTileTokens;
};

// The running state of rows: acc and the lanes of sum are of weights exp(score - peak), where peak
// is a recent maximum, not always the latest. Start: peak -inf, sum 0, acc 0.
struct AttentionRows {
  int rows = 0;              // 1..kMaxRows
  std::size_t stride = 0;    // a multiple of 16
  float softcap = 0;         // scores s become softcap * tanh(s / softcap); 0: as they are
  const float* q = nullptr;  // [rows, stride], times the softmax scale
  float* peak = nullptr;     // [rows]
  float* sum = nullptr;      // [rows, 16], to be added up
  float* acc = nullptr;      // [rows, stride]
  // [rows], or null: every row sees all that the tiles show. Only with one tile, whose V must be
  // finite in its [begin, end) where a row sees less of it.
  const SlotRange* seen = nullptr;
};

inline constexpr int kStoredTiles = 2;  // of a stored type, per step

// num_tiles: 1 or 2; for kF32 also 4. type: kF32, kF16, kBF16, kI8 or kF8E4M3. next: as many tiles
// that a later step will read, each brought into the cache place by place while the tile before it
// computes; `tiles` where there are none. kF32 tiles are in the cache already: next is not read
// and may be null.
void attend_tiles(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next);

// Copies one tile as f32, scales applied: laid out alike. Slots outside [begin, end) become 0.
void expand_tile(DType type, const KvTile& tile, std::size_t stride, float* k, float* v);

}  // namespace tandem::device::cpu
