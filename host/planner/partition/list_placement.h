// SPDX-License-Identifier: Apache-2.0
//
// Placement methods that visit every node once. Cost: about O(nodes (64 devices) + edges devices).
//
// place_earliest(): m-ETF of Baechi. Of the 64 ready nodes with the longest paths to the end, it
// places the node that can start first, on the device where it ends first; among equals the one
// with the longest path. place_small_communication(): m-SCT of Baechi, the same with favourite
// children (favourite_children.h): these go to their parent's device, before others that would run
// there. place_by_rank(): HEFT. Nodes in the order of their paths to the end, each on the device
// where it ends first. place_in_order(): consecutive parts of the topological order that take equal
// time. The first two skip devices whose resident memory and largest node would exceed the limit.
// Memory over time is not checked. Groups follow their first node. Threads: pure.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

Placement place_earliest(const OperatorGraph& graph, const DeviceLinks& links);
Placement place_small_communication(const OperatorGraph& graph, const DeviceLinks& links);
Placement place_by_rank(const OperatorGraph& graph, const DeviceLinks& links);
Placement place_in_order(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
