// SPDX-License-Identifier: Apache-2.0
//
// place_chain: the fastest placement of a chain of operators, by dynamic programming.
//
// A chain: every node has at most one producer and one consumer, there is one first node, and no
// groups. The earliest end of a node on a device is the minimum over the devices of its producer,
// so the result is optimal. Memory is not checked. Threads: pure. Cost: O(nodes devices^2).
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

bool is_chain(const OperatorGraph& graph);
// Places a graph for which is_chain() is true.
Placement place_chain(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
