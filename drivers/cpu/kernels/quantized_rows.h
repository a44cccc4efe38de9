// SPDX-License-Identifier: Apache-2.0
//
// Activations as int8, for products with quantised weights.
//
// A row is cut into blocks of 32 values. With peak = max |x| of the block in f32: scale = peak /
// 127 and q = x * (127 / peak), rounded to nearest, ties to even; all zero where peak < 2^-100. A
// block with NaN or infinity becomes zeros with scale NaN, which makes NaN of every output of its
// row. Cost: 4 bytes read per value, 1.5 written. Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::device::cpu {

struct RowBlock {
  float scale = 0;
  float scaled_sum = 0;          // scale * sum of q
  std::int32_t minus_sum = 0;    // -sum of q
  std::int32_t minus_first = 0;  // of the first 16 values
};

// count is a multiple of 32; blocks has count / 32.
void quantize_row(const float* x, std::size_t count, std::int8_t* q, RowBlock* blocks);

}  // namespace tandem::device::cpu
