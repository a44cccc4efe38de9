// SPDX-License-Identifier: Apache-2.0
//
// Memory binding by hwloc: it finds the node of a set of processors and calls the system.
#include "common/memory_binding.h"

#include <hwloc.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

namespace tandem {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};

// This machine, read once; null when hwloc cannot read it.
hwloc_topology* machine() {
  static const std::unique_ptr<hwloc_topology, Destroy> topology = [] {
    hwloc_topology* raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return std::unique_ptr<hwloc_topology, Destroy>();
    std::unique_ptr<hwloc_topology, Destroy> owner(raw);
    // Its reader of CPU registers binds itself to every processor in turn.
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(raw) != 0) owner.reset();
    return owner;
  }();
  return topology.get();
}

}  // namespace

bool bind_memory(std::span<std::byte> memory, const std::vector<int>& processors) {
  if (processors.empty()) return true;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t begin = (at + page - 1) / page * page;
  const std::uintptr_t end = (at + memory.size()) / page * page;
  if (begin >= end) return true;
  const std::unique_ptr<hwloc_bitmap_s, Destroy> set(hwloc_bitmap_alloc());
  if (machine() == nullptr || set == nullptr) return false;
  for (const int id : processors) hwloc_bitmap_set(set.get(), static_cast<unsigned>(id));
  return hwloc_set_area_membind(machine(), reinterpret_cast<void*>(begin), end - begin, set.get(),
                                HWLOC_MEMBIND_BIND, 0) == 0;
}

}  // namespace tandem
