// SPDX-License-Identifier: Apache-2.0
//
// Which NUMA node the pages of a piece of memory come from, whoever touches them first.
//
// For memory that many threads share and that is touched late, such as a pool. Whole system pages
// inside the piece are bound; what has been touched before stays where it is. Best effort: false
// where the system refuses or the build has no hwloc, and then first touch decides, which is slower
// and nothing else. Threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem {

// `processors`: of the node, as the system numbers them; empty changes nothing.
bool bind_memory(std::span<std::byte> memory, const std::vector<int>& processors);

}  // namespace tandem
