// SPDX-License-Identifier: Apache-2.0
//
// Writes the two halves of a kernel's entry point.
//
// The OpenCL C half reads arguments from the register map, whose fields are not aligned, and calls
// the kernel; the C++ half (glue/opencl_c/kernel_exports.h) exports it. Both use the same register
// map: the first argument is at 0x10. Each next one follows 4 bytes after the end of the one before
// it, which is rounded up to a multiple of 4. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/opencl_c/signature.h"
#include "bitstreams/compiler/opencl_c/source_rewriter.h"

namespace tandem::opencl_c {

// Returns the OpenCL C part, which is appended to the source.
std::string opencl_half(const std::vector<KernelSignature>& kernels);
// Returns the C++ part, which is a whole source file.
std::string cpp_half(const std::vector<KernelSignature>& kernels, const std::vector<Pipe>& pipes,
                     const std::vector<std::uint32_t>& pipe_bytes);

}  // namespace tandem::opencl_c
