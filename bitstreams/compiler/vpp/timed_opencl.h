// SPDX-License-Identifier: Apache-2.0
//
// Adds the copy of OpenCL C kernels that counts for the time model.
//
// The vendor's attributes stand for the pragmas of HLS C++. All pointers to device memory share one
// port. Threads: any.
#pragma once

#include <string>

#include "bitstreams/compiler/opencl_c/compile.h"

namespace tandem::vpp {

// `clang`: the requested one, or empty. Without a clang no copy is wanted.
opencl_c::TimedCopy timed_opencl(const std::string& clang, double clock_mhz);

}  // namespace tandem::vpp
