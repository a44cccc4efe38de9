// SPDX-License-Identifier: Apache-2.0
//
// Work on a stream of the interpreter: kernels, copies, calls of the doubles of NVIDIA's libraries.
//
// on_stream() does the work at once. During a capture it adds the work to the graph, which does it
// at every launch. After set_lazy(true) the work is done when a caller waits for the stream or
// queries an event behind it, as late as on a GPU: memory changed too early then gives a wrong
// result. `work` holds what it needs by value. A kernel that may begin early does so if several
// pieces of work are known at once: in a graph, and in late work. Threads: one.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "gpu_kernels/simt/faults.h"

namespace tandem::simt {

void set_lazy(bool lazy);

struct Kernel;  // simt.h

cudaError_t on_stream(cudaStream_t stream, std::function<void()> work);
cudaError_t on_stream(cudaStream_t stream, const Kernel& kernel);

// Work of the legacy stream that its call does not wait for: no other stream waits for it either.
// Counted by whoever calls.
cudaError_t on_legacy_stream(std::function<void()> work);

// All work of the stream, or of all streams.
void finish(cudaStream_t stream);
void finish_all();

}  // namespace tandem::simt
