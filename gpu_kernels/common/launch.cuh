// SPDX-License-Identifier: Apache-2.0
//
// Launches kernels by ordinary function calls, so that the sources stay plain C++, and orders each
// kernel after earlier launches.
//
// In a chain (launch_chain.h) a kernel begins when every block of the previous kernel has called
// let_next_start() or ended. The results of the previous kernel are not visible yet. Therefore
// every thread of every kernel calls wait_for_previous(). Code for less than compute capability 9.0
// has neither function, so its chains must not overlap on a newer GPU either (code_capability() of
// kernel_path.h). Threads: any. Source: CUDA Programming Guide, "Programmatic Dependent Launch and
// Synchronization"; PTX ISA, "griddepcontrol".
#pragma once

#include <cuda_runtime.h>

#include "common/launch_chain.h"
#include "common/shared_limit.h"

namespace tandem::gpu_kernels {

template <typename... Parameters, typename... Arguments>
cudaError_t launch_with(cudaLaunchConfig_t config, void (*kernel)(Parameters...),
                        const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = follows_in_chain() && launch_chain.overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

// Returns the launch's error; does not wait.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream, dim3 grid, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = stream;
  return launch_with(config, kernel, arguments...);
}

// Gives the kernel `shared_bytes` of shared memory at dynamic_shared(), aligned to 16. Returns an
// error if a block cannot have this much.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_shared(cudaStream_t stream, dim3 grid, unsigned threads, unsigned shared_bytes,
                          void (*kernel)(Parameters...), const Arguments&... arguments) {
  const cudaError_t error = allow_most_shared(reinterpret_cast<const void*>(kernel));
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return launch_with(config, kernel, arguments...);
}

__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ uint4 tandem_dynamic_shared[];
  return reinterpret_cast<unsigned char*>(tandem_dynamic_shared);
}

// A thread calls it before it ends, before it reads what an earlier launch writes, and before it
// writes what an earlier launch reads or writes. Only loads of weights and arithmetic come before
// it. After it all earlier launches have ended and their results are visible.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace tandem::gpu_kernels
