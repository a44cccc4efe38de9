// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an xclbin in memory, from a pointer without a size.
//
// XRT passes no size, so the header's m_length gives the number of bytes. They are returned only if
// the process can read all of them; they may still belong to another object. Errors: Error naming
// the field. Cost: reads /proc/self/maps once. Threads: any.
#pragma once

#include <cstddef>
#include <span>

struct axlf;

namespace tandem::emulation {

std::span<const std::byte> readable_xclbin(const axlf* top);

}  // namespace tandem::emulation
