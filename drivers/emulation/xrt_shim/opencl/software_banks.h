// SPDX-License-Identifier: Apache-2.0
//
// Joins all memory banks into one, for OpenCL programs in software emulation.
//
// There libxilinxopencl (2.13) puts every buffer into bank 0. It refuses the buffer for an argument
// that is connected to another bank. Our bitstreams name the real banks, because the other modes
// need them. So this file changes the tables that XRT keeps of a loaded bitstream. Streams between
// kernels stay. Cost: linear in the tables, once per load.
#pragma once

#include <xclbin.h>

#include <cstddef>

#include "emulation/xrt_shim/xrt_internal.h"

namespace tandem::emulation {

// Changes the tables of the bitstream that `device` has just registered.
void join_banks(const xrt_core::device& device);

// The change itself: bank 0 spans all banks and is the only one in use ...
void join_topology(mem_topology& topology);
// ... and all connections but those of streams lead to it.
void join_connections(connectivity& connections, const mem_topology& topology);

}  // namespace tandem::emulation
