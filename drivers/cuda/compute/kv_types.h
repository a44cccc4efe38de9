// SPDX-License-Identifier: Apache-2.0
//
// Maps KV types of the contracts to those of the kernels.
#pragma once

#include "kv_cache/kv_pool.h"
#include "tensor/dtype.h"

namespace tandem::cuda {

// Maps kF16, kBF16, kI8 and kF8E4M3; every other type is mapped to f16.
inline gpu_kernels::KvType kv_type(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return gpu_kernels::KvType::kBF16;
    case DType::kI8:
      return gpu_kernels::KvType::kI8;
    case DType::kF8E4M3:
      return gpu_kernels::KvType::kE4M3;
    default:
      return gpu_kernels::KvType::kF16;
  }
}

}  // namespace tandem::cuda
