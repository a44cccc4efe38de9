// SPDX-License-Identifier: Apache-2.0
//
// Rows of a weight as bf16, before a product with many rows.
//
// Packed types, and e4m3 as in the file (times its scales). Values are those of tensor/dtype.h's
// dequantize_row(), rounded to nearest even. Graph-safe: one launch, no workspace. Bytes: the rows'
// once, 2 per value written; the product reads a small slice from the cache. Errors:
// cudaErrorInvalidValue.
#pragma once

#include <cuda_runtime_api.h>

#include "common/stored_types.h"

namespace tandem::gpu_kernels {

struct Dequantisation {
  StoredType type = StoredType::kQ8_0;             // is_packable(), or kE4M3
  std::int64_t out_features = 0, in_features = 0;  // of the matrix
  const void* weight = nullptr;                    // packed, or [out_features, in_features]
  const float* scales = nullptr;                   // as in ProductTarget, e4m3 only
  std::int64_t first_row = 0, num_rows = 0;        // first_row a multiple of 16
  BF16* to = nullptr;                              // [num_rows, in_features], aligned to 16
  int scale_outputs = 1, scale_inputs = 0;
};
cudaError_t dequantise_rows(const Dequantisation& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
