// SPDX-License-Identifier: Apache-2.0
//
// Quantised weights in the order of the product kernels, made once from the blocks of a file.
//
// Outputs are in panels of 16, inputs in slabs of 32 values (groups of 8 slabs). A warp's load of
// 16 outputs is contiguous, whether a lane takes 16 bytes of one output or 4 of each of two. Every
// plane but the last is read in loads of 16 bytes. The bytes are those of the file except: q4_k and
// q5_k have 4 more per 256 values (their scales are unpacked), q6_k has 2 more, and the last panel
// and group are padded.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/stored_types.h"
#include "gemm/product_targets.h"

namespace tandem::gpu_kernels {

// Planes, in this order. Each begins at a multiple of 256 bytes; absent planes take no bytes; rows
// from out_features on are zeros:
//   codes   [panels][slabs][chunks][16 rows][16 bytes]: of 8 bits two chunks (values 0-15, 16-31),
//           else one: byte i holds the low 4 bits of values i (low) and i + 16 (high)
//   high    [panels][slabs][16 rows][4 * k bytes]: the k = 1 or 2 bits above. k = 1: bit 8 t + i is
//           of value 4 t + i, bit 8 t + 4 + i of value 16 + 4 t + i (i < 4). k = 2: word j, byte b,
//           bits 2 t and 2 t + 1 are of value 16 j + 4 t + b
//   scales  [panels][groups][16 rows][8 slabs] of 2 bytes: f16 scale; q4_k and q5_k: bytes scale,
//           min; q6_k: int8 scales of the halves
//   mins    the same of f16 mins: q4_1, q5_1
//   supers  [panels][groups][16 rows] of 4 bytes, K types: f16 scale, f16 min (q6_k: 0)
inline constexpr int kSlabValues = 32;

bool is_packable(StoredType type);  // quantised types; floats are not packed

// in_features: a multiple of the type's block.
std::size_t packed_bytes(StoredType type, std::int64_t out_features, std::int64_t in_features);

// Writes rows [first_row, first_row + num_rows) of a matrix to their place. Whole panels: first_row
// is a multiple of 16, and so is num_rows unless the rows are the matrix's last. Graph-safe: one
// launch. Cost: the bytes are read once and written once. Errors: cudaErrorInvalidValue.
struct RowPacking {
  StoredType type = StoredType::kQ8_0;
  std::int64_t out_features = 0, in_features = 0;  // of the matrix
  std::int64_t first_row = 0, num_rows = 0;
  const void* rows = nullptr;  // [num_rows] in the order of the file, aligned to 16
  void* packed = nullptr;      // [packed_bytes()] of the matrix, aligned to 16
};
cudaError_t pack_rows(const RowPacking& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
