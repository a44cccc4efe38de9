// SPDX-License-Identifier: Apache-2.0
//
// TensorView: a named matrix in borrowed memory, usually a memory-mapped model file.
//
// Ownership: borrows `data`; valid as long as the model it came from. Row-major [rows, columns]; a
// vector has rows = 1. An e4m3 matrix has scales, in memory that is valid as long as its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/dtype.h"
#include "tensor/weight_scales.h"

namespace tandem {

struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // a multiple of the dtype's block
  const std::byte* data = nullptr;
  WeightScales scales;  // kF8E4M3 only; none: ones

  explicit operator bool() const { return data != nullptr; }
  std::size_t size_bytes() const {  // without scales
    return static_cast<std::size_t>(rows) *
           dtype_row_bytes(dtype, static_cast<std::size_t>(columns));
  }
};

// A row's values, times their scales. to: [columns]
void dequantize_row(const TensorView& tensor, std::int64_t row, float* to);

}  // namespace tandem
