// SPDX-License-Identifier: Apache-2.0
//
// ProcessorLayout: the processors that this process may run on, and where they are: which physical
// core, which last-level cache, which NUMA node.
//
// Read through hwloc where the build has it; otherwise every processor of the affinity mask is a
// core of one node. `quota` is what control groups grant on top of the mask (cpu_quota.h). Machines
// can be described by text or a file too, so that plans are tested on machines that are not here;
// threads cannot be bound to those. Threads: any. Cost: some milliseconds, once per process for
// this_machine(). Errors: Error for a description that hwloc does not take.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

struct Processor {
  int id = 0;      // as the system numbers it
  int node = 0;    // NUMA node, in [0, num_nodes)
  int cache = 0;   // last-level cache, in [0, num_caches)
  int core = 0;    // physical core, in [0, num_cores)
  int thread = 0;  // 0 for the first usable hyper-thread of its core
};

struct ProcessorLayout {
  std::vector<Processor> processors;  // by node, cache, core, thread; at least one
  int num_nodes = 1;                  // that have a usable processor; caches and cores likewise
  int num_caches = 1;
  int num_cores = 1;
  std::vector<std::uint64_t> cache_bytes;                  // [num_caches] 0: unknown
  double quota = std::numeric_limits<double>::infinity();  // processors' worth of time
  bool is_this_machine = false;
};

// Which machine to read; of the two at most one.
struct ProcessorSource {
  std::string synthetic;                    // hwloc's notation: "numa:2 core:4 pu:2"
  std::string xml_path;                     // what lstopo wrote
  std::optional<std::vector<int>> allowed;  // processors of the mask; none: all of the machine
  double quota = std::numeric_limits<double>::infinity();
};

// False where the build has no hwloc: then described machines are refused.
bool processors_are_known();

ProcessorLayout read_processors(const ProcessorSource& source);

// The machine as this process found it at the first call. Later changes of the mask, of a thread or
// of all, do not show: a thread that a pool has bound must not make the next pool's machine small.
const ProcessorLayout& this_machine();

// Processors of the calling thread's affinity mask; empty when the system does not say.
std::vector<int> affinity_mask();

// Every processor a core of its own on one node.
ProcessorLayout flat_processors(const std::vector<int>& processors, double quota);

}  // namespace tandem
