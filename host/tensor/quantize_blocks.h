// SPDX-License-Identifier: Apache-2.0
//
// Converts one block of finite values to its quantised form. Internal to quantize_row().
//
// Integers are chosen for the scales as stored, after their rounding to f16. Threads: pure
// functions.
#pragma once

#include "tensor/quantized_blocks.h"

namespace tandem {

void quantize_block(const float* from, BlockQ8_0& to);  // scale: the peak / 127
void quantize_block(const float* from, BlockQ4_0& to);
void quantize_block(const float* from, BlockQ4_1& to);
void quantize_block(const float* from, BlockQ5_0& to);
void quantize_block(const float* from, BlockQ5_1& to);
void quantize_block(const float* from, BlockIQ4_NL& to);
void quantize_block(const float* from, BlockQ4_K& to);
void quantize_block(const float* from, BlockQ5_K& to);
void quantize_block(const float* from, BlockQ6_K& to);

// A scale as a block stores it: the nearest f16, clipped to its finite range.
std::uint16_t stored_scale(float scale);

// 1 / f16, or 0 if the f16 is 0.
float stored_inverse(std::uint16_t scale);

}  // namespace tandem
