// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the kernel in builds without nvcc or NCCL's device API.
#include "transport/nccl/symmetric_launch.h"

namespace tandem::transport::nccl {

bool has_symmetric_kernel() { return false; }

cudaError_t launch_symmetric_move(const SymmetricMove&, cudaStream_t) {
  return cudaErrorNotSupported;
}

}  // namespace tandem::transport::nccl
