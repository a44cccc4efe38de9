// SPDX-License-Identifier: Apache-2.0
//
// Copies as launches of a queue, in any direction between device memory and pinned memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tandem::cuda {

struct CopyBytes {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

inline cudaError_t copy_bytes(const CopyBytes& job, cudaStream_t stream) {
  return cudaMemcpyAsync(job.to, job.from, job.bytes, cudaMemcpyDefault, stream);
}

}  // namespace tandem::cuda
