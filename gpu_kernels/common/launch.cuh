// SPDX-License-Identifier: Apache-2.0
//
// Launching a kernel by an ordinary function call, so that the sources stay plain C++.
//
// Returns what the launch says; nothing is waited for. Threads: any. A kernel that launch_shared
// starts has `shared_bytes` of shared memory at dynamic_shared(), aligned to 16; more than the
// device gives to a block is an error of the launch.
#pragma once

#include <cuda_runtime.h>

namespace tandem::gpu_kernels {

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream, dim3 grid, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_shared(cudaStream_t stream, dim3 grid, unsigned threads, unsigned shared_bytes,
                          void (*kernel)(Parameters...), const Arguments&... arguments) {
  const cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(shared_bytes));
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ uint4 tandem_dynamic_shared[];
  return reinterpret_cast<unsigned char*>(tandem_dynamic_shared);
}

}  // namespace tandem::gpu_kernels
