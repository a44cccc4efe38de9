// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of gpu_kernels/common/launch.cuh in the SIMT build: the kernel runs at once.
#pragma once

#include "gpu_kernels/simt/simt.h"

namespace tandem::gpu_kernels {

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t, dim3 grid, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  simt::run_grid(grid, threads, [&] { kernel(Parameters(arguments)...); });
  return cudaSuccess;
}

}  // namespace tandem::gpu_kernels
