// SPDX-License-Identifier: Apache-2.0
//
// One step of online-softmax attention: up to 8 query rows that share a KV head against up to
// kMaxTiles tiles of 16 tokens.
//
// A K tile is stored by dimension, [stride, 16 tokens], so that a score of 16 tokens is one vector
// and needs no sum over lanes; a V tile is stored as [stride / 16, 16 tokens, 16 dimensions], so
// that a few dimensions of all tokens are one run of memory. stride is head_dim rounded up to 16,
// the padding is zero. Cost: 2 * rows * stride FLOPs per token for each of K and V; every K and V
// value is read once for all rows. Threads: pure functions. Numerics: f32 throughout; tokens at or
// behind a tile's `tokens` never take part, whatever bits stand there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr int kTileTokens = 16;
inline constexpr int kMaxTiles =
    2;  // what is read now and what is read next fit the first-level cache
inline constexpr int kMaxRows = 8;

struct KvTile {
  const void* k = nullptr;         // [stride, 16]
  const void* v = nullptr;         // [16, 64] per strip
  const float* k_scale = nullptr;  // [16], kI8 only
  const float* v_scale = nullptr;  // [16], kI8 only
  int tokens = 0;                  // 1..16
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

// The running state of rows: acc and the lanes of sum are of weights exp(score - peak), where peak
// is a recent maximum, not always the latest. Start: peak -inf, sum 0, acc 0.
struct AttentionRows {
  int rows = 0;              // 1..kMaxRows
  std::size_t stride = 0;    // a multiple of 16
  const float* q = nullptr;  // [rows, stride], times the softmax scale
  float* peak = nullptr;     // [rows]
  float* sum = nullptr;      // [rows, 16], to be added up
  float* acc = nullptr;      // [rows, stride]
};

// type: kF32, kF16 or kI8. next: null, or num_tiles tiles that a later step will read: each is
// brought into the cache place by place while the tile before it computes (k null: not this one).
void attend_tiles(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next);

// Copies one tile as f32, scales applied: laid out alike. Slots behind tile.tokens
// become 0.
void expand_tile(DType type, const KvTile& tile, std::size_t stride, float* k, float* v);

}  // namespace tandem::device::cpu
