// SPDX-License-Identifier: Apache-2.0
//
// Which path of decode attention a unit takes, by the GPU's policy (kernel_choice.h).
//
// A trial's case is a batch of five sequences of the shape's heads and two short ones, with values
// that no result can overflow with, over a pool of its own: some 16 stages of 64 tokens per
// multiprocessor, 70 MB on an H200 for 128 f16 values per head, or an eighth of what memory is
// free. Items of 8, 32 and 64 query heads are kernels of their own, and so each that the shape's
// batches can ask for is tried, the narrowest with capped scores, too; the Hopper path is taken
// where it wins them all. Threads: the submitting thread. Errors: as choose_path().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "attention/decode_plan.h"
#include "cuda/gpu/gpu.h"
#include "cuda/trials/kernel_choice.h"

namespace tandem::cuda {

// Writes the plan of a path's bucket: plan_decode().
using PlanDecode =
    std::function<bool(const gpu_kernels::DecodeBucket&, std::span<const gpu_kernels::DecodeGroup>,
                       std::span<const std::int32_t> rows, std::span<std::byte> plan)>;

// The trial of sequences of `rows` query rows each; softcap as in DecodeAttention.
PathTrial decode_trial(Gpu& gpu, const gpu_kernels::DecodeShape& shape, int rows, float softcap,
                       const PlanDecode& plan);

gpu_kernels::KernelPath choose_decode_path(Gpu& gpu, const gpu_kernels::DecodeShape& shape);

}  // namespace tandem::cuda
