// SPDX-License-Identifier: Apache-2.0
//
// Products of weights without their zeros (sparse_rows.h) with rows of activations.
//
// Few rows (decode): a vector of weights is multiplied with the inputs at their places. The inputs
// come from registers, or are gathered from memory if 256 inputs need too many registers. For bf16
// weights the rows are rounded to bf16, and multiplied in pairs if the processor can. Many rows: a
// weight is multiplied with 32 rows at a time; the rows stay f32. If a weight of zero meets an
// input that is infinite or NaN, the product is left out, or is NaN as with the dense matrix. A
// row's result does not depend on the other rows of a call. Cost: the packed bytes once per call, 2
// FLOPs per value and row. Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/sparse_products/sparse_rows.h"

namespace tandem::device::cpu {

struct SparseProduct {
  DType dtype = DType::kF32;
  const std::byte* weights = nullptr;     // the packed matrix
  const std::uint64_t* starts = nullptr;  // [outputs + 1]: offsets of its rows in bytes
  std::size_t outputs = 0;
  std::size_t in_features = 0;
  const float* x =
      nullptr;  // few: [rows, in_features] (not bf16); many: [rows / 32, in_features, 32]
  // For few rows and bf16 weights: [chunks][x_stride][kBf16Chunk] (bf16_products.h).
  const std::uint16_t* bf16_x = nullptr;
  std::size_t x_stride = 0;
  std::size_t rows = 0;         // at least 1
  float* y = nullptr;           // [rows, y_stride]; the first output of this call
  std::size_t y_stride = 0;     // outputs of the whole matrix
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;      // y += instead of y =
};

// The workspace grows to what a call needs and may be used again.
void multiply_sparse_few(const SparseProduct& product, std::vector<float>& workspace);
void multiply_sparse_many(const SparseProduct& product, std::vector<float>& workspace);

}  // namespace tandem::device::cpu
