// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may have of a multiprocessor's shared memory.
//
// Set once per kernel and device to the most that a block of the kernel can have, and never
// lowered: launches of other sizes, and nodes of graphs that are instantiated later, stay valid.
// Behind the first call a look into a table under a lock, and no call of the driver but for the
// current device's number. Safe in captures. Threads: any. Errors: those of the runtime; a failed
// call is tried again by the next one.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {

// As much dynamic shared memory as the device gives to a block, without the kernel's static part.
cudaError_t allow_most_shared(const void* kernel);

// The same, and the multiprocessors that run it have all of their memory as shared memory, not as
// cache: for kernels of which several blocks are to be resident.
cudaError_t take_most_shared(const void* kernel);

}  // namespace tandem::gpu_kernels
