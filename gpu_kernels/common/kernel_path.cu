// SPDX-License-Identifier: Apache-2.0
//
// code_capability() asks a kernel that is never launched for what it was compiled: it is compiled
// as all others are.
#include "common/kernel_path.h"

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {
namespace {

__global__ void compiled_as_all_others(int* to) { *to = 0; }

}  // namespace

int code_capability() {
  cudaFuncAttributes attributes;
  const auto* kernel = reinterpret_cast<const void*>(compiled_as_all_others);
  return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess ? attributes.ptxVersion : 0;
}

}  // namespace tandem::gpu_kernels
