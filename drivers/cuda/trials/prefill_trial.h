// SPDX-License-Identifier: Apache-2.0
//
// Which path of attention of many rows a unit takes, by the GPU's policy (kernel_choice.h).
//
// A trial's case is three sequences of the shape's heads, or three chunks where it has no pages,
// 1 : 2 : 3 in rows and about a block of 128 query heads per multiprocessor, over eight tokens
// per multiprocessor each, and two short ones. It is tried with capped scores, too, and the Hopper
// path is taken where it wins both. Covered are the operands of the shape, exact or not; for chunks
// the one shape named below, so neither windows nor other heads or types. Threads: the submitting
// thread. Errors: as choose_path().
#pragma once

#include "attention/prefill_plan.h"
#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

gpu_kernels::KernelPath choose_prefill_path(Gpu& gpu, const gpu_kernels::PrefillShape& shape);

// For chunks of every shape, by the trial of 8 query heads of 128 bf16 values over 2 KV heads:
// compute units know no shape before their first operation, when it is too late for a trial.
gpu_kernels::KernelPath choose_causal_path(Gpu& gpu);

}  // namespace tandem::cuda
