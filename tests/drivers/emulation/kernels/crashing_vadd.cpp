// SPDX-License-Identifier: Apache-2.0
//
// The vector-add kernel's interface with a crash behind it: the example programs must report it and
// end.
#include <cstdint>
#include <cstdlib>

extern "C" void vadd(const std::uint32_t*, const std::uint32_t*, std::uint32_t*, std::uint32_t) {
  std::abort();
}
