// SPDX-License-Identifier: Apache-2.0
//
// The choice between the kernel paths of a GPU (common/kernel_path.h).
//
// The policy is the device's: generic, hopper, or a trial. A trial runs both paths on a small
// random case when a unit is made, holds their results against each other, and takes the faster;
// one line of the device's notes says which, and why. Cost of a trial: some 30 launches of the case
// on the idle GPU, which must be in no capture. Threads: the submitting thread. Errors: Error for
// an unknown word, for memory, and for kernels that do not come to an end, which lose the GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "common/kernel_path.h"
#include "cuda/gpu.h"

namespace tandem::cuda {

// "generic", "hopper" or "trial".
KernelPolicy kernel_policy(std::string_view word);

struct PathTrial {
  std::string what;             // "decode attention of 32/8 heads of 128 in f16"
  bool has_hopper = false;      // whether there is a Hopper kernel for the shape and this GPU
  std::size_t num_results = 0;  // f32
  double bound = 1e-4;          // of differences, relative to the largest result
  // Makes the case; not called unless a trial is to be run.
  std::function<void()> prepare;
  // Enqueues the case once, with all its results to `results` in device memory.
  std::function<cudaError_t(gpu_kernels::KernelPath, float* results, cudaStream_t)> launch;
};

// By the GPU's policy.
gpu_kernels::KernelPath choose_path(Gpu& gpu, const PathTrial& trial);

}  // namespace tandem::cuda
