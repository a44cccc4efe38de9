// SPDX-License-Identifier: Apache-2.0
//
// Raises a kernel's limit of shared memory.
//
// Set once per kernel and device to the maximum of a block, and never lowered: launches of other
// sizes and nodes of graphs that are instantiated later stay valid. Later calls only read a table
// under a lock and ask the runtime for the current device. Safe in captures. Threads: any. Errors:
// those of the runtime; the next call repeats a failed one.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {

// As much dynamic shared memory as the device gives to a block, without the kernel's static part.
cudaError_t allow_most_shared(const void* kernel);

// The same, and its multiprocessors use all of their memory as shared memory, not as cache: for
// kernels with several resident blocks.
cudaError_t take_most_shared(const void* kernel);

}  // namespace tandem::gpu_kernels
