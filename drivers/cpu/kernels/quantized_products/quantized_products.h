// SPDX-License-Identifier: Apache-2.0
//
// Products of packed quantised weights (packed_format.h) with rows of int8 activations
// (quantized_rows.h), in integers within a block of 32 inputs.
//
// y = x W^T. A block adds float(sum of code * q) * (scale of w * scale of x) in f32, per 16 inputs
// if halves have their own scales, and then min of w * (scale of x * sum of q). Blocks are added in
// order of inputs with multiply-adds, so an output has the same bits for any number of rows in a
// call, and on every instruction set with fused multiply-add. Cost: every panel is read from memory
// once per call of up to 256 rows; 2 operations per weight and row. Threads: any; pure functions;
// callers divide panels and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/quantized_products/packed_format.h"
#include "cpu/kernels/quantized_products/quantized_rows.h"

namespace tandem::device::cpu {

struct QuantizedProduct {
  DType dtype = DType::kQ8_0;
  const std::byte* panels = nullptr;  // [num_panels][panel_bytes], aligned to 64 bytes
  std::size_t num_panels = 0;
  std::size_t outputs = 0;      // outputs in these panels; the last panel may hold fewer than 16
  std::size_t blocks = 0;       // in_features / 32
  const RowChunk* x = nullptr;  // [chunks][x_stride]; uses the first `rows` of x_stride
  std::size_t x_stride = 0;
  std::size_t rows = 0;
  float* y = nullptr;           // [rows, y_stride]; the first output of the panels
  std::size_t y_stride = 0;     // outputs of the whole matrix
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;      // y += instead of y =
};

// The number of panels of a call should be a multiple of this.
inline constexpr std::size_t kPanelGroup = 2;

// The workspace grows to what a call needs and may be used again.
void multiply_quantized(const QuantizedProduct& product, std::vector<float>& workspace);

}  // namespace tandem::device::cpu
