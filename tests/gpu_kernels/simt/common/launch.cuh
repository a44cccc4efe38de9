// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of gpu_kernels/common/launch.cuh in the SIMT build: the kernel runs when its
// stream comes to it (stream.h), with the arguments as they were at the launch.
//
// A grid or a block that no GPU takes is an error. Dynamic shared memory is full of NaN when a
// launch begins, and ends with a fence that a test would see broken.
#pragma once

#include <cstdlib>
#include <tuple>
#include <vector>

#include "common/launch_chain.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/simt.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::gpu_kernels {

inline void wait_for_previous() {}
inline void let_next_start() {}

inline bool is_launchable(dim3 grid, unsigned threads) {
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x < (1u << 31) && grid.y < (1u << 16) &&
         grid.z < (1u << 16) && threads > 0 && threads <= 1024;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream, dim3 grid, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  if (!is_launchable(grid, threads)) return simt::leave(cudaErrorInvalidConfiguration);
  const std::tuple<Parameters...> held{Parameters(arguments)...};
  return simt::on_stream(stream,
                         [=] { simt::run_grid(grid, threads, [&] { std::apply(kernel, held); }); });
}

inline std::vector<uint4>& dynamic_shared_memory() {
  static std::vector<uint4> memory;
  return memory;
}

inline unsigned char* dynamic_shared() {
  return reinterpret_cast<unsigned char*>(dynamic_shared_memory().data());
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_shared(cudaStream_t stream, dim3 grid, unsigned threads, unsigned shared_bytes,
                          void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (shared_bytes > simt::faults().block_shared_bytes) return simt::leave(cudaErrorInvalidValue);
  if (!is_launchable(grid, threads)) return simt::leave(cudaErrorInvalidConfiguration);
  const std::tuple<Parameters...> held{Parameters(arguments)...};
  return simt::on_stream(stream, [=] {
    constexpr unsigned kFence = 4;
    const unsigned words = (shared_bytes + sizeof(uint4) - 1) / sizeof(uint4);
    dynamic_shared_memory().assign(words + kFence, uint4{~0u, ~0u, ~0u, ~0u});
    simt::run_grid(grid, threads, [&] { std::apply(kernel, held); });
    for (unsigned i = words; i < words + kFence; ++i) {
      if (dynamic_shared_memory()[i].x != ~0u) std::abort();
    }
  });
}

}  // namespace tandem::gpu_kernels
