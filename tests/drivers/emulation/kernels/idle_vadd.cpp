// SPDX-License-Identifier: Apache-2.0
//
// The vector-add kernel's interface without its work: the example programs must report it.
#include <cstdint>

extern "C" void vadd(const std::uint32_t*, const std::uint32_t*, std::uint32_t*, std::uint32_t) {}
