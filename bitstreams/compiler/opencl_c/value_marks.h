// SPDX-License-Identifier: Apache-2.0
//
// Lets the variables of OpenCL C kernels begin without a value, in the IR that clang made from the
// source and did not optimise yet.
//
// A variable in IR begins as undef, which the optimiser replaces by any value, so a use of it is
// not seen any more. Here it begins as a copy of kNoValue, memory that has no value by the
// bookkeeping of MemorySanitizer. So the pass, which follows values through registers and memory,
// knows what comes from there. Larger arrays stay in memory, where the pass marks them itself. The
// padding of vectors of three elements counts as their last one. A table per kernel,
// tandem_cl_locals_<kernel>, lists its __local variables: address and bytes, with 0, 0 at the end.
// Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::opencl_c {

constexpr const char* kNoValue = "@tandem_cl_no_value";  // 128 bytes of the other half

std::string begin_without_values(const std::string& ir, const std::vector<std::string>& kernels);

// Writes absolute values as choices: the pass takes the argument of llvm.abs as a use, even if
// nothing needs the result.
std::string expand_absolute_values(const std::string& ir);

}  // namespace tandem::opencl_c
