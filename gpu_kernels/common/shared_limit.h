// SPDX-License-Identifier: Apache-2.0
//
// Raises a kernel's limit of shared memory.
//
// The first call for a kernel and a device sets the limit to the maximum of a block. It is never
// lowered, so launches of other sizes and nodes of graphs that are instantiated later stay valid.
// Later calls only ask the runtime for the current device and look into a table under a lock. Safe
// during the capture of a graph. Threads: any. Errors: those of the runtime; after an error the
// next call tries again.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {

// Allows the kernel as much dynamic shared memory as the device gives to a block, less the kernel's
// static part.
cudaError_t allow_most_shared(const void* kernel);

// Does the same, and makes multiprocessors that run the kernel use their on-chip memory as shared
// memory instead of as cache, so that several blocks fit.
cudaError_t allow_and_prefer_most_shared(const void* kernel);

}  // namespace tandem::gpu_kernels
