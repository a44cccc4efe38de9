// SPDX-License-Identifier: Apache-2.0
//
// Reads topologies that a file describes, and that of this machine.
//
// Text: lines "place NAME [HOST [SLOT]]" and "link A B [COST]"; a name in a link that is no place
// is a switch; "#" begins a comment. HOST and SLOT are mpirun's; without them every place is a host
// of its own. Links of the greatest cost are slow. XML of lstopo (`<topology>`): its cores, as
// topology_of_processors() has them. XML that NCCL dumps (`<system>`, NCCL_TOPO_DUMP_FILE): its
// GPUs; NVLink costs 12 / links, PCI 24 per hop, between CPUs 48, which is slow (assumptions).
// Threads: pure. Errors: Error("topology", ...) with the line or the element.
#pragma once

#include <istream>
#include <string>

#include "common/processors.h"
#include "planner/mapping/topology.h"

namespace tandem::planner {

// By the content of the file.
Topology read_topology(const std::string& path);

Topology read_topology_text(std::istream& in);

// Gives the places to the slots of a hostfile of mpirun in turn: lines "NAME [slots=N]", where N is
// 1 without a number. Throws Error if it has fewer slots than there are places.
void name_hosts(Topology& topology, std::istream& in);

Topology read_nccl_topology(std::istream& in);

// A place per physical core; its slot is the core. Cores that share a cache are 2 apart, those of a
// NUMA node 4, those of two nodes 8. Links between nodes are slow; with one node those from the
// caches to it, and with one cache all.
Topology topology_of_processors(const ProcessorLayout& processors);

}  // namespace tandem::planner
