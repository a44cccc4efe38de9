// SPDX-License-Identifier: Apache-2.0
//
// Which path of decode attention a unit takes, by the GPU's policy (kernel_choice.h).
//
// The trial's case is a batch of five sequences of the shape's heads, with values that no result
// can overflow with, over a pool of its own: some 16 stages of 64 tokens per multiprocessor, 70 MB
// on an H200 for 128 f16 values per head, or an eighth of what memory is free. Threads: the
// submitting thread. Errors: as choose_path().
#pragma once

#include "attention/decode_plan.h"
#include "cuda/gpu.h"

namespace tandem::cuda {

gpu_kernels::KernelPath choose_decode_path(Gpu& gpu, const gpu_kernels::DecodeShape& shape);

}  // namespace tandem::cuda
