// SPDX-License-Identifier: Apache-2.0
//
// available_memory(): how much memory this process may use, and how much of it is free.
//
// Each is the smallest figure of the machine and of the control groups of this process. Linux kills
// a process that exceeds them: memory.max and memory.high in version 2, memory.limit_in_bytes in
// version 1, of the group and of all above it. The page cache counts as free, because Linux drops
// it. Swap does not count. Threads: any.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace tandem {

struct AvailableMemory {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t total_bytes = 0;         // memory of the machine, or the limit if that is smaller
  std::uint64_t left_bytes = 0;          // memory that can be allocated without swapping
  std::uint64_t limit_bytes = kNoLimit;  // the smallest limit of a control group
};

// root: the folder that holds /proc and /sys; tests set it.
AvailableMemory available_memory(const std::string& root = {});

}  // namespace tandem
