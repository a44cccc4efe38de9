// SPDX-License-Identifier: Apache-2.0
//
// Chooses the path of decode attention by the GPU's policy (kernel_choice.h).
//
// The trial's case: five sequences and two short ones with the shape's heads. Its pool has about 16
// stages of 64 tokens per multiprocessor (70 MB on an H200 for 128 f16 values per head), but at
// most an eighth of the free memory. No result can overflow. Items of 8, 32 and 64 query heads are
// different kernels. All that the shape's batches can use are tried, the narrowest also with capped
// scores. The Hopper path is taken if it is faster in all of them. Threads: the submitting thread.
// Errors: as choose_path().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "attention/decode_plan.h"
#include "cuda/gpu/gpu.h"
#include "cuda/trials/kernel_choice.h"

namespace tandem::cuda {

// Writes the plan of a path's bucket. Same parameters as plan_decode().
using PlanDecode =
    std::function<bool(const gpu_kernels::DecodeBucket&, std::span<const gpu_kernels::DecodeGroup>,
                       std::span<const std::int32_t> rows, std::span<std::byte> plan)>;

// The trial of sequences of `rows` query rows each; softcap as in DecodeAttention.
PathTrial decode_trial(Gpu& gpu, const gpu_kernels::DecodeShape& shape, int rows, float softcap,
                       const PlanDecode& plan);

gpu_kernels::KernelPath choose_decode_path(Gpu& gpu, const gpu_kernels::DecodeShape& shape);

}  // namespace tandem::cuda
