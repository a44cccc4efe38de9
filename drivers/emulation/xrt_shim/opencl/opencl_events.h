// SPDX-License-Identifier: Apache-2.0
//
// Notes which kernels that libxilinxopencl started have failed.
//
// That library (2.13) checks only whether a command has ended, so the event of a failed kernel
// reads CL_COMPLETE. It ends the process when a migration throws. Its events cannot be set to an
// error either: commands that wait for such an event never start. So failures are noted here, by
// the library's own callbacks, and the OpenCL layer (opencl_layer/) reports them. The library's
// objects are read only when its build is the known one; otherwise nothing is noted. Threads: any.
#pragma once

#include <cstddef>

namespace tandem::emulation {

// Called by xclVersion(), which only libxilinxopencl calls. Works once per process.
void watch_opencl_kernels();

// Whether watch_opencl_kernels() was called, which means that the program uses libxilinxopencl.
bool opencl_in_use();

// Whether libxilinxopencl has started a kernel in this process. Then a transfer on a failed card
// must not return an error to it.
bool opencl_kernels_started();

// Fills the memory that the host reads from a failed card with bytes that no kernel wrote, so that
// an earlier result is not mistaken for the result of this run.
void fill_with_lost_data(std::byte* host, size_t size_bytes);

}  // namespace tandem::emulation
