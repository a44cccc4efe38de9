// SPDX-License-Identifier: Apache-2.0
//
// Products of bf16 or e4m3 weights in panels (bf16_panel.h, f8_panel.h) with rows of activations
// rounded to bf16.
//
// y = x W^T in f32, for any number of rows. Every output of every row has its own lane, summed pair
// by pair over a chunk of kBf16Chunk inputs; sums of chunks are added in order. (e4m3: summed over
// the inputs of one scale, which multiplies the sum.) So an output has the same bits for any number
// of rows in a call. e4m3 is widened exactly during the product: a call reads 8 bits per weight.
// With AVX512-BF16 its dot product multiplies (two products and a sum at a time; subnormals are
// zero); else values are widened to f32. Cost: weights are read from memory once per call, in
// order; 2 FLOPs per weight and row. Threads: any; pure functions; callers divide panels and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/float_products/bf16_panel.h"

namespace tandem::device::cpu {

struct Bf16Product {
  const std::byte* panels = nullptr;  // aligned to 64 bytes
  std::size_t outputs = 0;  // outputs in these panels; the matrix's last panel may hold fewer
  std::size_t in_features = 0;
  std::size_t scale_inputs = 0;  // e4m3 panels: the inputs that share a scale; bf16: 0
  // [chunks][x_stride][kBf16Chunk]; uses the first `rows` of x_stride
  const std::uint16_t* x = nullptr;
  std::size_t x_stride = 0;
  std::size_t rows = 0;
  float* y = nullptr;           // [rows, y_stride]; the first output of this call
  std::size_t y_stride = 0;     // outputs of the whole matrix
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;      // y += instead of y =
};

// The inputs of one partial sum. Rows are stored chunk by chunk, so that those of a tile are one
// stream; if in_features is odd, a zero follows the last value.
inline constexpr std::size_t kBf16Chunk = 1024;

// The workspace grows to what a call needs and may be used again.
void multiply_bf16(const Bf16Product& product, std::vector<float>& workspace);

// Rounds to the nearest, ties to even; NaN stays NaN.
void round_to_bf16(const float* from, std::size_t count, std::uint16_t* to);

}  // namespace tandem::device::cpu
