// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an xclbin in memory that came as a bare pointer.
//
// XRT passes no size, so the header's m_length says how many bytes there are. They are returned
// only where the process can read all of them; what lies there may still belong to something else.
// Errors: Error naming the field. Cost: reads /proc/self/maps once. Threads: any.
#pragma once

#include <cstddef>
#include <span>

struct axlf;

namespace tandem::emulation {

std::span<const std::byte> readable_xclbin(const axlf* top);

}  // namespace tandem::emulation
