// SPDX-License-Identifier: Apache-2.0
//
// readable_xclbin: the bytes of an xclbin in memory, from a pointer without a size.
//
// XRT passes no size, so the size is m_length of the header. The bytes are returned only if the
// process can read all of them; some may belong to another object if m_length is wrong. Errors:
// Error with the field. Cost: reads /proc/self/maps once. Threads: any.
#pragma once

#include <cstddef>
#include <span>

struct axlf;

namespace tandem::emulation {

std::span<const std::byte> readable_xclbin(const axlf* top);

}  // namespace tandem::emulation
