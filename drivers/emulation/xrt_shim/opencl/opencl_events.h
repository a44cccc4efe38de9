// SPDX-License-Identifier: Apache-2.0
//
// Records which kernels that libxilinxopencl started have failed.
//
// That library (2.13) only checks whether a command has ended, so the event of a failed kernel
// reports CL_COMPLETE. The library ends the process if a migration throws. Its events cannot be set
// to an error either: commands that wait for such an event never start. So the shim records
// failures by the library's own callbacks, and the OpenCL layer (opencl_layer/) reports them. It
// reads the library's objects only if the build is a known one; otherwise it records nothing.
// Threads: any.
#pragma once

#include <cstddef>

namespace tandem::emulation {

// Called by xclVersion(), which only libxilinxopencl calls. Works once per process.
void watch_opencl_kernels();

// Whether watch_opencl_kernels() was called; the program then uses libxilinxopencl.
bool opencl_in_use();

// Whether libxilinxopencl has started a kernel in this process. If so, a transfer on a failed card
// must not return an error to the library.
bool opencl_kernels_started();

// Fills host memory that is read from a failed card with bytes that no kernel wrote, so that an
// earlier result is not mistaken for the result of this run.
void fill_with_lost_data(std::byte* host, size_t size_bytes);

}  // namespace tandem::emulation
