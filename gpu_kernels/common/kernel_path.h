// SPDX-License-Identifier: Apache-2.0
//
// Which of several kernels does an operation: the generic ones (sm_80 and newer), or those with
// instructions of Hopper's own.
//
// A shape names the path (DecodeShape, PrefillShape); the bucket made of it says which one its
// launches take: where the Hopper path takes no such shape, that is the generic one. Both paths
// read the same plans and pools and give the same results, but for rounding. Who sets the path has
// asked code_capability() first. Threads: pure functions, but for code_capability(), which asks the
// runtime about the current device.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

enum class KernelPath : std::uint8_t { kGeneric, kHopper };

// The compute capability that the code which the current device runs was compiled for: 90 for
// sm_90, and 80 also on a newer device where the build has nothing newer. 0: none runs there.
int code_capability();

}  // namespace tandem::gpu_kernels
