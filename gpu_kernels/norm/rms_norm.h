// SPDX-License-Identifier: Apache-2.0
//
// out = (accumulate ? out : 0) + x / sqrt(mean(x^2) + epsilon) * weight, row by row.
//
// With a residual, residual += x comes first and the norm is of that sum. out may be x or the
// residual where it does not accumulate. It is one case of norm/row_preparation.h, which states
// alignment, numerics, cost and errors. Graph-safe.
#pragma once

#include "norm/row_preparation.h"

namespace tandem::gpu_kernels {

struct RmsNorm {
  std::int64_t rows = 0;
  int width = 0;
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width]
  float* out = nullptr;           // [rows, width]
  float epsilon = 1e-5f;
  bool accumulate = false;
  float* residual = nullptr;  // [rows, width] or none
};

inline cudaError_t rms_norm(const RmsNorm& job, cudaStream_t stream) {
  RowPreparation preparation;
  preparation.rows = job.rows;
  preparation.width = job.width;
  preparation.x = job.x;
  preparation.function = RowFunction::kRmsNorm;
  preparation.weight = job.weight;
  preparation.epsilon = job.epsilon;
  preparation.addend = job.residual;
  preparation.sum = job.residual;
  preparation.to.f32 = job.out;
  preparation.to.accumulate = job.accumulate;
  return prepare_rows(preparation, stream);
}

}  // namespace tandem::gpu_kernels
