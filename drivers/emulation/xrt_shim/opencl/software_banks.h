// SPDX-License-Identifier: Apache-2.0
//
// One bank for OpenCL programs in software emulation.
//
// There libxilinxopencl (2.13) puts every buffer that names a bank into bank 0 and refuses it as an
// argument that is connected to another one; it counts on a bitstream whose arguments all reach
// bank 0. Ours name the real banks, for the other modes, so the tables XRT keeps of a loaded
// bitstream are changed. Streams between kernels stay. Cost: linear in the tables, once per load.
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
