// SPDX-License-Identifier: Apache-2.0
//
// Reads the topology that a file describes, and makes the topology of this machine.
//
// Text: lines "place NAME [HOST [SLOT]]" and "link A B [COST]"; a name in a link that is not a
// place is a switch; "#" begins a comment. HOST and SLOT are mpirun's; without them every place is
// a host of its own. Links of the greatest cost are slow. XML of lstopo (`<topology>`): its cores,
// as in topology_of_processors(). XML that NCCL dumps (`<system>`, NCCL_TOPO_DUMP_FILE): its GPUs.
// Assumed costs: NVLink 12 / links, PCI 24 per hop, 48 between CPUs; the last are slow. Threads:
// pure. Errors: Error("topology", ...) with the line or the element.
#pragma once

#include <istream>
#include <string>

#include "common/processors.h"
#include "planner/mapping/topology.h"

namespace tandem::planner {

// Detects the format from the content of the file.
Topology read_topology(const std::string& path);

Topology read_topology_text(std::istream& in);

// Assigns the places in order to the slots of an mpirun hostfile: lines "NAME [slots=N]", where N
// is 1 if it is missing. Throws Error if it has fewer slots than there are places.
void name_hosts(Topology& topology, std::istream& in);

Topology read_nccl_topology(std::istream& in);

// A place per physical core; its slot is the core. The distance of two cores is 2 if they share a
// cache, 4 within a NUMA node, and 8 between two nodes. The links between nodes are slow. With one
// node, the links between its caches and the node are slow; with one cache, all links are.
Topology topology_of_processors(const ProcessorLayout& processors);

}  // namespace tandem::planner
