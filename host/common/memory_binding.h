// SPDX-License-Identifier: Apache-2.0
//
// bind_memory: binds the pages of a piece of memory to a NUMA node, whichever thread touches them
// first.
//
// For memory that many threads share and first touch late, such as a pool. Only whole system pages
// inside the memory are bound. Pages that were touched before stay where they are. Best effort: the
// result is false if the system refuses or the build has no hwloc. Then the first touch decides,
// and access may be slower. Threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem {

// `processors`: those of the node, in the system's numbers; if empty, nothing changes.
bool bind_memory(std::span<std::byte> memory, const std::vector<int>& processors);

}  // namespace tandem
