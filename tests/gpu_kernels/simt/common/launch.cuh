// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/launch.cuh in the SIMT build: the kernel runs when its stream reaches
// it (stream.h), with the arguments of the launch.
//
// A grid or a block that no GPU accepts is an error.
#pragma once

#include <tuple>

#include "common/launch_chain.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/simt.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::gpu_kernels {

inline void wait_for_previous() { simt::wait_for_previous(); }
inline void let_next_start() {}
inline unsigned char* dynamic_shared() { return simt::block_shared_memory(); }

inline bool is_launchable(dim3 grid, unsigned threads) {
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x < (1u << 31) && grid.y < (1u << 16) &&
         grid.z < (1u << 16) && threads > 0 && threads <= 1024;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_shared(cudaStream_t stream, dim3 grid, unsigned threads, unsigned shared_bytes,
                          void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (shared_bytes > simt::faults().block_shared_bytes) return simt::leave(cudaErrorInvalidValue);
  if (!is_launchable(grid, threads)) return simt::leave(cudaErrorInvalidConfiguration);
  const std::tuple<Parameters...> held{Parameters(arguments)...};
  return simt::on_stream(stream, simt::Kernel{grid, threads, shared_bytes, follows_in_chain(),
                                              [=] { std::apply(kernel, held); }});
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream, dim3 grid, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  return launch_shared(stream, grid, threads, 0, kernel, arguments...);
}

}  // namespace tandem::gpu_kernels
