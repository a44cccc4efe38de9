// SPDX-License-Identifier: Apache-2.0
//
// The part that needs no hwloc: the affinity mask, a flat machine, this machine.
#include "common/processors.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "common/cpu_quota.h"

namespace tandem {

std::vector<int> affinity_mask() {
  // The kernel refuses a set with fewer bits than the machine has processors, so the set grows.
  for (int capacity = CPU_SETSIZE; capacity <= (1 << 20); capacity *= 4) {
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    std::vector<cpu_set_t> set((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    std::vector<int> processors;
    for (int id = 0; id < capacity; ++id) {
      if (CPU_ISSET_S(id, bytes, set.data())) processors.push_back(id);
    }
    return processors;
  }
  return {};
}

ProcessorLayout flat_processors(const std::vector<int>& processors, double quota) {
  ProcessorLayout flat;
  for (const int id : processors) {
    const int core = static_cast<int>(flat.processors.size());
    flat.processors.push_back({.id = id, .core = core});
  }
  if (flat.processors.empty()) flat.processors.emplace_back();
  flat.num_cores = static_cast<int>(flat.processors.size());
  flat.cache_bytes.assign(1, 0);
  flat.quota = quota;
  return flat;
}

const ProcessorLayout& this_machine() {
  static const ProcessorLayout machine = [] {
    ProcessorSource source;
    std::vector<int> mask = affinity_mask();
    if (mask.empty()) {
      const int count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
      for (int id = 0; id < count; ++id) mask.push_back(id);
    }
    source.allowed = std::move(mask);
    source.quota = cpu_quota();
    return read_processors(source);
  }();
  return machine;
}

}  // namespace tandem
