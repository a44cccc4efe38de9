// SPDX-License-Identifier: Apache-2.0
//
// Chooses between the kernel paths of a GPU (common/kernel_path.h).
//
// The device's policy is generic, hopper, or trial. A trial runs both paths on a small random case
// when a unit is made, and compares each part of their results within its own bound. If they agree,
// Hopper is taken if it is at least 3 % faster. One line of the device's notes says which path was
// taken, and why. All work of a trial is on the queue's stream. Cost: some 30 launches of the case
// on the idle GPU, outside of captures. Threads: the submitting thread. Errors: Error for an
// unknown word, for memory, and for kernels that do not end, which lose the GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/kernel_path.h"
#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

// "generic", "hopper" or "trial".
KernelPolicy kernel_policy(std::string_view word);

// Results of one kind: f32 values that follow those of the previous part.
struct TrialPart {
  std::string name;
  std::size_t count = 0;
  double bound = 0;         // upper bound of the differences between both paths
  bool is_relative = true;  // whether the bound is relative to the part's largest value
};

struct PathTrial {
  std::string what;         // "decode attention of 32/8 heads of 128 in f16"
  bool has_hopper = false;  // whether there is a Hopper kernel for the shape and this GPU
  std::vector<TrialPart> parts;
  // The names of the two choices, if they are not kernels.
  std::string generic_word = "generic kernels", hopper_word = "Hopper kernels";
  // Makes the case; called only if a trial runs.
  std::function<void()> prepare;
  // Enqueues the case once, with all its results to `results` in device memory.
  std::function<cudaError_t(gpu_kernels::KernelPath, float* results, cudaStream_t)> launch;
};

// Copies these bytes to device memory for a trial. The copy is complete; `from` may be reused.
PoolRange upload_for_trial(Gpu& gpu, std::span<const std::byte> from);

// Chooses the path by the GPU's policy.
gpu_kernels::KernelPath choose_path(Gpu& gpu, const PathTrial& trial);

}  // namespace tandem::cuda
