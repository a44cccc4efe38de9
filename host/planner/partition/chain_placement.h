// SPDX-License-Identifier: Apache-2.0
//
// place_chain: the fastest placement of a chain of operators, by dynamic programming.
//
// A chain: every node has at most one producer and one consumer, there is one first node, and no
// groups. The time to the end of a node on a device is the least over the devices of the node
// before, so the result is the optimum; memory is not looked at. Threads: pure. Cost: O(nodes
// devices^2).
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

bool is_chain(const OperatorGraph& graph);
// Of a chain.
Placement place_chain(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
