// SPDX-License-Identifier: Apache-2.0
//
// Products of bf16 or e4m3 weights in panels (kernels/float_products/bf16_panel.h,
// kernels/float_products/f8_panel.h) with rows of activations rounded to bf16.
//
// y = x W^T in f32, for any number of rows. Every output of every row is a lane of its own, summed
// pair by pair along chunks of kBf16Chunk inputs, whose sums are added in order (of e4m3: along
// the inputs of a scale, which multiplies their sum); so an output is the same bits whatever the
// rows of a call. e4m3 is widened exactly, beside the products: a call reads 8 bits per weight.
// Where the processor has AVX512-BF16 its dot product multiplies (two products and a sum at a time;
// subnormals are zero to it), elsewhere values are widened to f32. Cost: weights are read from
// memory once per call, from end to end; 2 FLOPs per weight and row. Threads: pure; callers split
// panels and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/float_products/bf16_panel.h"

namespace tandem::device::cpu {

struct Bf16Product {
  const std::byte* panels = nullptr;  // aligned to 64 bytes
  std::size_t outputs = 0;            // of these panels, the last of which may be a matrix's last
  std::size_t in_features = 0;
  std::size_t scale_inputs = 0;      // inputs of a scale: panels of e4m3; 0: of bf16
  const std::uint16_t* x = nullptr;  // [chunks][x_stride][kBf16Chunk], of which the first `rows`
  std::size_t x_stride = 0;
  std::size_t rows = 0;
  float* y = nullptr;           // [rows, y_stride]; the first output of this call
  std::size_t y_stride = 0;     // outputs of the whole matrix
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;      // y += instead of y =
};

// Inputs that are summed before their sum is added to others'. Rows lie chunk by chunk, so that
// those of a tile are one stream; where in_features is odd, the last value is followed by a zero.
inline constexpr std::size_t kBf16Chunk = 1024;

// The workspace grows to what a call needs and may be used again.
void multiply_bf16(const Bf16Product& product, std::vector<float>& workspace);

// Nearest even; NaN stays NaN.
void round_to_bf16(const float* from, std::size_t count, std::uint16_t* to);

}  // namespace tandem::device::cpu
