// SPDX-License-Identifier: Apache-2.0
//
// Few rows times weights of floats, in the order of the model file.
//
// bf16, f16: x in the same type, products by mma (exact, added in f32). e4m3: x in bf16; the weight
// is widened to bf16 exactly. The scale of an output multiplies its sum; the scale of a block
// multiplies the sum of every 128 inputs. f32: fused multiply-adds. A NaN code of e4m3 counts as
// 480. Numerics: a row's bits depend on the shapes, not on the other rows. Blocks of scales cost a
// warp 4 cached loads and 8 multiply-adds per 256 inputs of 16 outputs (4 KiB). Graph-safe: one
// launch, workspace: kFewRowsWorkspaceBytes. Bytes: W once, in loads of 16 bytes, 4 to 8 of them in
// flight per lane; x from the caches, once per panel of 16 outputs (f32: of 4). Errors:
// cudaErrorInvalidValue for shapes outside the stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include "common/stored_types.h"
#include "gemm/product_targets.h"

namespace tandem::gpu_kernels {

inline constexpr int kMaxNarrowRows = 8;
inline constexpr int kNarrowScaleStep = 128;  // scale_inputs is a multiple of this

struct NarrowProduct {
  StoredType type = StoredType::kBF16;  // type of all targets: kF32, kF16, kBF16 or kE4M3
  int rows = 0;                         // 1..kMaxNarrowRows
  std::int64_t in_features = 0;         // rows of W are a multiple of 16 bytes
  const void* x = nullptr;              // [rows, in_features] of f32, f16 or bf16, aligned to 16
  int num_targets = 0;                  // 1..kMaxTargets
  ProductTarget targets[kMaxTargets];   // weight: [out_features, in_features], aligned to 16
  void* workspace = nullptr;
};
cudaError_t narrow_product(const NarrowProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
