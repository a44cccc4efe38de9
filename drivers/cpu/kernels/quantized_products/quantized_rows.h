// SPDX-License-Identifier: Apache-2.0
//
// Activations as int8, for products with quantised weights.
//
// A row is divided into blocks of 32 values. With peak = max |x| of the block in f32: scale = peak
// / 127 and q = x * (127 / peak), rounded to nearest, ties to even; all zero if peak < 2^-100. A
// block with NaN or infinity becomes zeros with scale NaN, so every output of its row is NaN.
// Layout: [chunks][rows]; a chunk has 16 blocks of a row with their scales and sums, because a
// product reads a few blocks of many rows at a time. Cost: 4 bytes read per value, 1.5 written.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::device::cpu {

inline constexpr std::size_t kChunkBlocks = 16;

struct alignas(64) RowChunk {
  std::int8_t q[kChunkBlocks * 32];
  float scale[kChunkBlocks];               // of a block
  std::int32_t minus_sum[kChunkBlocks];    // -128 * sum of q: subtracts the offset of weight codes
  float scaled_sum[kChunkBlocks];          // scale * sum of q
  std::int32_t minus_first[kChunkBlocks];  // -128 * sum of the block's first 16 q
};

// count is a multiple of 32. `stride`: the number of rows, which is the distance between two chunks
// of a row. The last chunk may have fewer blocks; only these are written.
void quantize_row(const float* x, std::size_t count, RowChunk* chunks, std::size_t stride);

}  // namespace tandem::device::cpu
