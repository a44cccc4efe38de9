// SPDX-License-Identifier: Apache-2.0
//
// What a copy without checks does instead of checked_group.h. C++14.
#pragma once

#include "work_group.h"

namespace tandem_opencl {

inline void begin_group(WorkGroup&, const std::uint64_t*, std::uint64_t, std::uint64_t) {}
inline void begin_copy() {}
inline void end_copy() {}
inline void copy_values(void* to, void* from, unsigned long bytes, void*) {
  std::memmove(to, from, bytes);
}
inline void packet_arrives(void*, unsigned long) {}
inline void packet_leaves(void*, unsigned long) {}

}  // namespace tandem_opencl
