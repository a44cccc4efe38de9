// SPDX-License-Identifier: Apache-2.0
//
// Reads rows of a table by their ids.
//
//   embed_rows   out[i] = dequantised(table[ids[i]]) * scale, bit for bit as tensor/dtype.h's
//                dequantize_row() followed by one product
//   gather_rows  out[i] = x[rows[i]]
// Ids are in device memory; the caller checks them before it copies them there. An id outside the
// table gives a row of NaN, and no memory outside the table is read. Graph-safe: one launch, no
// workspace. Width is a multiple of the type's block. Cost: the rows' bytes once. Errors:
// cudaErrorInvalidValue for shapes other than these.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/stored_types.h"

namespace tandem::gpu_kernels {

struct EmbedRows {
  const void* table = nullptr;  // [table_rows, width], aligned to 16 bytes
  StoredType type = StoredType::kF32;
  std::int64_t table_rows = 0;
  int width = 0;
  std::int64_t rows = 0;
  const std::int32_t* ids = nullptr;  // [rows]
  float scale = 1.0f;
  float* out = nullptr;  // [rows, width]
};
cudaError_t embed_rows(const EmbedRows& job, cudaStream_t stream);

struct GatherRows {
  std::int64_t x_rows = 0;
  const float* x = nullptr;  // [x_rows, width]
  int width = 0;
  std::int64_t rows = 0;
  const std::int32_t* picks = nullptr;  // [rows]
  float* out = nullptr;                 // [rows, width]
};
cudaError_t gather_rows(const GatherRows& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
