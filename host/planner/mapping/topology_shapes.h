// SPDX-License-Identifier: Apache-2.0
//
// Topologies by name. A link costs 1 unless another cost is given here:
//   mesh:4x3, torus:4x4x2   routers that are places; the last coordinate changes first. All slow.
//   fat-tree:K              switches of K ports in three levels, K^3 / 4 places; distances 2, 4, 6.
//                           Links to the top level are slow.
//   dragonfly:GxAxP         G groups of A routers, all joined, with P places each. One link per
//                           pair of groups; the routers of a group get them in order. Such a link
//                           costs 3 and is slow, so that no path takes two.
// Every place is a host of its own: "+n0", "+n1" ... Threads: pure. Errors: Error("topology", ...)
// with the name, for numbers below 1 and for more than kMostTasks places.
#pragma once

#include <string_view>

#include "planner/mapping/topology.h"

namespace tandem::planner {

// Whether the name is one of a shape: "mesh:", "torus:", "fat-tree:" or "dragonfly:".
bool is_topology_shape(std::string_view name);
Topology topology_of_shape(std::string_view name);

}  // namespace tandem::planner
