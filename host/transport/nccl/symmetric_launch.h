// SPDX-License-Identifier: Apache-2.0
//
// Starts the kernel of symmetric_kernel.cu. Builds without NCCL's device API have
// symmetric_absent.cpp instead; tests have a double. Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include "transport/nccl/symmetric_move.h"

namespace tandem::transport::nccl {

bool has_symmetric_kernel();
cudaError_t launch_symmetric_move(const SymmetricMove& move, cudaStream_t stream);

}  // namespace tandem::transport::nccl
