// SPDX-License-Identifier: Apache-2.0
//
// Launching a kernel by an ordinary function call, so that the sources stay plain C++.
//
// Returns what the launch says; nothing is waited for. Threads: any.
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

}  // namespace tandem::gpu_kernels
