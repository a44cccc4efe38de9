// SPDX-License-Identifier: Apache-2.0
//
// read_processors() by hwloc (2.5 or later): every processor's core, last-level cache and NUMA
// node.
//
// hwloc uses only its operating system backend. Its CPU register backend binds itself to every
// processor in turn, and its bus and accelerator backends start drivers.
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "common/error.h"
#include "common/processors.h"

namespace tandem {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* raw) const { hwloc_topology_destroy(raw); }
};
using Handle = std::unique_ptr<hwloc_topology, DestroyTopology>;

Handle load(const ProcessorSource& source) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error("threads", "hwloc cannot be started");
  Handle handle(raw);
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  int refused = 0;
  if (!source.synthetic.empty()) {
    refused = hwloc_topology_set_synthetic(raw, source.synthetic.c_str());
  } else if (!source.xml_path.empty()) {
    refused = hwloc_topology_set_xml(raw, source.xml_path.c_str());
  }
  if (refused == 0) refused = hwloc_topology_load(raw);
  if (refused != 0) {
    const std::string& name = source.synthetic.empty() ? source.xml_path : source.synthetic;
    throw Error("threads", "hwloc cannot read '" + name + "' as a description of a machine");
  }
  return handle;
}

// The objects that contain a processor, by hwloc's logical numbers.
struct Place {
  unsigned node = 0, cache = 0, core = 0;
  int id = 0;
  std::uint64_t cache_bytes = 0;
};

Place place_of(hwloc_obj_t processor) {
  Place place;
  place.id = static_cast<int>(processor->os_index);
  place.core = processor->logical_index;
  for (hwloc_obj_t at = processor; at != nullptr; at = at->parent) {
    if (at->type == HWLOC_OBJ_CORE) place.core = at->logical_index;
    if (hwloc_obj_type_is_dcache(at->type)) {
      place.cache = at->logical_index;
      place.cache_bytes = at->attr->cache.size;
    }
  }
  // If a processor has several kinds of memory, the first is the main memory.
  const int node = processor->nodeset != nullptr ? hwloc_bitmap_first(processor->nodeset) : 0;
  place.node = static_cast<unsigned>(std::max(node, 0));
  return place;
}

// Numbers in order of first appearance.
class Numbering {
 public:
  int of(unsigned key) {
    return known_.try_emplace(key, static_cast<int>(known_.size())).first->second;
  }
  int count() const { return static_cast<int>(known_.size()); }

 private:
  std::map<unsigned, int> known_;
};

}  // namespace

bool processors_are_known() { return true; }

ProcessorLayout read_processors(const ProcessorSource& source) {
  const Handle handle = load(source);
  std::vector<Place> places;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(handle.get(), HWLOC_OBJ_PU, pu)) != nullptr;) {
    const int id = static_cast<int>(pu->os_index);
    const bool allowed =
        !source.allowed ||
        std::find(source.allowed->begin(), source.allowed->end(), id) != source.allowed->end();
    if (allowed) places.push_back(place_of(pu));
  }
  const bool described = !source.synthetic.empty() || !source.xml_path.empty();
  if (places.empty()) {
    if (described) throw Error("threads", "the mask allows no processor of the described machine");
    // A container's view of /sys may lack what its mask allows.
    return flat_processors(source.allowed.value_or(affinity_mask()), source.quota);
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.node, a.cache, a.core, a.id) < std::tie(b.node, b.cache, b.core, b.id);
  });
  ProcessorLayout layout;
  Numbering nodes, caches, cores;
  for (const Place& place : places) {
    Processor next{place.id, nodes.of(place.node), caches.of(place.cache), cores.of(place.core), 0};
    if (!layout.processors.empty() && layout.processors.back().core == next.core) {
      next.thread = layout.processors.back().thread + 1;
    }
    layout.processors.push_back(next);
    layout.cache_bytes.resize(static_cast<std::size_t>(caches.count()), place.cache_bytes);
  }
  layout.num_nodes = nodes.count();
  layout.num_caches = caches.count();
  layout.num_cores = cores.count();
  layout.quota = source.quota;
  layout.is_this_machine = !described && hwloc_topology_is_thissystem(handle.get()) != 0;
  return layout;
}

}  // namespace tandem
