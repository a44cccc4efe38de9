// SPDX-License-Identifier: Apache-2.0
//
// ProcessorLayout: the processors that this process may run on, with physical core, last-level
// cache and NUMA node of each.
//
// hwloc reads them where the build has it. Without hwloc, every processor of the affinity mask
// counts as a core of one node. A text or a file can describe another machine, so that plans are
// tested for machines that are not here; threads cannot be bound to those. Threads: any.
// Cost: some milliseconds, once per process for this_machine().
// Errors: Error for a description that hwloc refuses.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

struct Processor {
  int id = 0;      // the system's number of the processor
  int node = 0;    // NUMA node, in [0, num_nodes)
  int cache = 0;   // last-level cache, in [0, num_caches)
  int core = 0;    // physical core, in [0, num_cores)
  int thread = 0;  // 0 for the first usable hyper-thread of its core
};

struct ProcessorLayout {
  std::vector<Processor> processors;  // by node, cache, core, thread; at least one
  int num_nodes = 1;  // nodes with a usable processor; caches and cores are counted in the same way
  int num_caches = 1;
  int num_cores = 1;
  std::vector<std::uint64_t> cache_bytes;  // [num_caches] 0: unknown
  // CPU quota in processors, see cpu_quota.h
  double quota = std::numeric_limits<double>::infinity();
  bool is_this_machine = false;
};

// Which machine to read. At most one of `synthetic` and `xml_path` is set; none: this machine.
struct ProcessorSource {
  std::string synthetic;                    // hwloc's notation: "numa:2 core:4 pu:2"
  std::string xml_path;                     // a file that lstopo wrote
  std::optional<std::vector<int>> allowed;  // the affinity mask; none: all of the machine
  double quota = std::numeric_limits<double>::infinity();
};

// Whether the build has hwloc. Without it, described machines are refused.
bool processors_are_known();

ProcessorLayout read_processors(const ProcessorSource& source);

// This machine at the time of the first call. Later changes of the affinity mask are ignored: a
// thread that one pool has bound must not make the machine look small to the next pool.
const ProcessorLayout& this_machine();

// The affinity mask of the calling thread; empty if the system does not report it.
std::vector<int> affinity_mask();

// A machine of one node where each processor is a core.
ProcessorLayout flat_processors(const std::vector<int>& processors, double quota);

}  // namespace tandem
