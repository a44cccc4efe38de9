// SPDX-License-Identifier: Apache-2.0
//
// Whether the launches of a GPU's queue overlap (Queue::overlap_launches).
//
// Only on compute capability 9.0 and newer with code compiled for it, whose kernels wait for what
// is in front of them, and by the device's policy for kernels (kernel_choice.h), since a wait that
// does not hold would be silent: generic has launches that are serial; hopper has them overlap;
// trial runs a chain of kernels, each of which needs all that the one before it wrote, both ways,
// and lets launches overlap where results are equal and time is saved. Threads: the submitting
// thread, outside of captures. Errors: those of choose_path().
#pragma once

#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

bool launches_overlap(Gpu& gpu);

}  // namespace tandem::cuda
