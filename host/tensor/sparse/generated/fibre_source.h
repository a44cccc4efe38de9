// SPDX-License-Identifier: Apache-2.0
//
// The kernels of ttv and ttm over fibres of a fixed number of entries, for cpu_source.cpp.
//
// Text that follows its types and `struct Rows`. Fibres are consecutive rows, so places of entries
// need no look at `begins` but for the first. Pure functions; threads: any.
#pragma once

#include <string>

#include "tensor/sparse/generated/kernel_pattern.h"

namespace tandem::sparse {

std::string ttv_source(const KernelPattern& pattern);

// lanes: values of a vector.
std::string ttm_source(const KernelPattern& pattern, std::size_t lanes);

}  // namespace tandem::sparse
