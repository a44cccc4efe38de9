// SPDX-License-Identifier: Apache-2.0
//
// Notes which kernels that libxilinxopencl started have failed.
//
// That library (2.13) asks only whether a command ended, so the event of a failed kernel reads
// CL_COMPLETE, and it ends the process when a migration throws. An event it holds cannot be given
// an error either: commands that wait for one such never start. So failures are noted here, by its
// own callbacks, for the OpenCL layer (opencl_layer/) to report. Its objects are read only when
// the library is the build whose layout is known; otherwise nothing is noted. Threads: any.
#pragma once

#include <cstddef>

namespace tandem::emulation {

// Called by xclVersion(), which nobody but libxilinxopencl calls; works once per process.
void watch_opencl_kernels();

// Whether it was called: the program uses libxilinxopencl.
bool opencl_in_use();

// Whether libxilinxopencl has started a kernel in this process: then an error of a transfer on a
// failed card must not reach it.
bool opencl_kernels_started();

// What the host reads of a failed card: bytes no kernel wrote, so that an earlier result cannot
// pass for this one.
void fill_with_lost_data(std::byte* host, size_t size_bytes);

}  // namespace tandem::emulation
