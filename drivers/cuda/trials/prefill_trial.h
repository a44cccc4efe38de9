// SPDX-License-Identifier: Apache-2.0
//
// Chooses the path of attention of many rows by the GPU's policy (kernel_choice.h).
//
// The trial's case: three sequences with the shape's heads (three chunks if the shape has no
// pages), and two short ones. Their numbers of rows have the ratio 1 : 2 : 3, with about one block
// of 128 query heads per multiprocessor. Each has eight tokens per multiprocessor. The trial is
// repeated with capped scores. The Hopper path is chosen if it is faster in both cases. The trial
// covers the shape's operands, exact or not. For chunks it covers only the shape named below: no
// windows, no other heads or types. Threads: the submitting thread. Errors: as choose_path().
#pragma once

#include "attention/prefill_plan.h"
#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

gpu_kernels::KernelPath choose_prefill_path(Gpu& gpu, const gpu_kernels::PrefillShape& shape);

// Chooses one path for chunks of every shape. The trial's shape is 8 query heads of 128 bf16 values
// over 2 KV heads, because a compute unit learns its shape with its first operation, when it is too
// late for a trial.
gpu_kernels::KernelPath choose_causal_path(Gpu& gpu);

}  // namespace tandem::cuda
