// SPDX-License-Identifier: Apache-2.0
//
// Slices of host buffers as pointers to f32, with a check of their length.
#pragma once

#include <cstddef>

#include "device/buffer.h"

namespace tandem::device::cpu {

// Returns the address of the slice's `count` floats. Throws Error naming `what` if the slice is
// missing, not in host memory, misaligned or too short.
float* floats(const Slice& slice, std::size_t count, const char* what);

}  // namespace tandem::device::cpu
