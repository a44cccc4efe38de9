// SPDX-License-Identifier: Apache-2.0
//
// Decides whether the launches of a GPU's queue overlap (Queue::overlap_launches).
//
// They can overlap on compute capability 9.0 and newer, with code compiled for it: its kernels wait
// for the previous launch. A wait that fails would be silent, so the policy for kernels decides
// (kernel_choice.h). generic: serial. hopper: they overlap. trial: a chain of kernels, each reading
// all results of the previous one, runs both ways; launches overlap if results are equal and time
// is saved. Threads: the submitting thread, outside of captures. Errors: those of choose_path().
#pragma once

#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

bool launches_overlap(Gpu& gpu);

}  // namespace tandem::cuda
