// SPDX-License-Identifier: Apache-2.0
//
// The kernel path of an operation: generic (sm_80 and newer), or with instructions of Hopper's own.
//
// A shape requests a path (DecodeShape, PrefillShape); its bucket says which path its launches
// take: the generic one if the Hopper path does not support the shape. Both read the same plans and
// pools and give the same results, except for rounding. A caller that sets the path must check
// code_capability() first. Threads: pure functions; code_capability() asks the runtime about the
// current device.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

enum class KernelPath : std::uint8_t { kGeneric, kHopper };

// The compute capability for which the code of the current device was compiled: 90 for sm_90. It is
// 80 on a newer device, too, if the build has no newer code. 0: no code of the build runs on the
// device.
int code_capability();

}  // namespace tandem::gpu_kernels
