// SPDX-License-Identifier: Apache-2.0
//
// out[row] = bias (+ out[row] with accumulate), before a product that accumulates and cannot add a
// bias itself.
//
// Graph-safe: one launch, no workspace. Cost: 4 bytes written per value, as many read with
// accumulate. Errors: cudaErrorInvalidValue.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

struct BiasRows {
  std::int64_t rows = 0, width = 0;
  std::int64_t stride = 0;      // distance between two rows of out, in values
  const float* bias = nullptr;  // [width]
  float* out = nullptr;         // [rows, stride]
  bool accumulate = false;
};
cudaError_t bias_rows(const BiasRows& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
