// SPDX-License-Identifier: Apache-2.0
//
// Products of f32 and f16 weights, as the model file stores them, with a few rows of activations
// (decode).
//
// y = x W^T for 1 to about 24 rows. Weights are read from memory once, in place, for any number of
// rows. Activations stay f32, so only the order of additions affects the result. Cost: out_features
// * row bytes read; 2 FLOPs per weight and row. Threads: any; pure functions; callers divide the
// outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

struct FewRows {
  DType dtype = DType::kF32;
  const std::byte* weights = nullptr;  // [outputs, in_features] of dtype
  std::size_t row_bytes = 0;
  std::size_t in_features = 0;
  const float* x = nullptr;     // [rows, in_features]
  std::size_t rows = 0;         // at least 1
  float* y = nullptr;           // [rows, y_stride]; the first output of this call
  std::size_t y_stride = 0;     // outputs of the whole matrix
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;      // y += instead of y =
};

void multiply_few_rows(const FewRows& task, std::size_t outputs);

}  // namespace tandem::device::cpu
