// SPDX-License-Identifier: Apache-2.0
//
// Work on a stream of the interpreter: kernels, copies, calls of libraries that stand in for
// NVIDIA's.
//
// on_stream() does the work at once; or, while the stream captures, adds it to the graph, to be
// done at every launch of it; or, after set_lazy(true), when somebody waits for the stream or asks
// an event behind it, as late as a GPU may: then memory that is changed too early shows. What
// `work` needs it must hold by value. A kernel that may begin early does so where several pieces of
// work are known at once: in a graph, and behind late work. Threads: one.
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
