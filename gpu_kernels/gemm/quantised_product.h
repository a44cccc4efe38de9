// SPDX-License-Identifier: Apache-2.0
//
// Few rows times quantised weights. W is read once for all rows, without a dequantised copy.
//
// x is int8 with a note per 32 values, as norm/row_preparation.h writes it. Per slab of 32 inputs
// the integers are multiplied and added exactly. Then f32 arithmetic applies the scales of x and W:
// out += a * sx * sum(u q) + b * sx * sum(q), where w = a u + b. Up to kDotRows rows use dp4a, one
// output per lane; up to kMaxQuantisedRows use mma of bytes, 16 outputs by 8 rows. Numerics: the
// bits of a row depend on the shapes and on the variant, not on the other rows. The only error
// against products of the dequantised weight is the rounding of x to 8 bits. Graph-safe: one
// launch, workspace: kFewRowsWorkspaceBytes.
#pragma once

#include <cuda_runtime_api.h>

#include "gemm/packed_weight.h"
#include "gemm/product_targets.h"
#include "norm/row_preparation.h"

namespace tandem::gpu_kernels {

inline constexpr int kDotRows = 4;
inline constexpr int kMaxQuantisedRows = 16;

struct QuantisedProduct {
  StoredType type = StoredType::kQ8_0;  // type of all targets; is_packable() holds
  int rows = 0;                         // 1..kMaxQuantisedRows
  std::int64_t in_features = 0;         // a multiple of the type's block
  const std::int8_t* x = nullptr;       // [rows, in_features], aligned to 16
  const Q8Note* notes = nullptr;        // [rows, in_features / 32]
  int num_targets = 0;                  // 1..kMaxTargets
  ProductTarget targets[kMaxTargets];   // weight: the bytes that pack_rows() wrote
  void* workspace = nullptr;
};
// Bytes: W once; x from the caches, once per panel. Instructions per weight and lane, about: 1.1 (1
// row) to 2.5 (4), 2.1 (8), 3.5 (16). An H200 issues 3.4 while it reads 4.5 bits. Errors:
// cudaErrorInvalidValue for other shapes than the stated ones.
cudaError_t quantised_product(const QuantisedProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
