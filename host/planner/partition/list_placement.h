// SPDX-License-Identifier: Apache-2.0
//
// Placements that go through the graph once.
//
// place_earliest: m-ETF of Baechi: of the 64 ready nodes with the longest ways to the end, again
// and again the one that starts first on the device that ends it first; of equal ones the longest
// way. place_by_rank: nodes by their way to the end, each where it ends first (HEFT's order).
// place_in_order: the order of the graph in parts that devices take as long for. The first two pass
// over devices whose resident memory and largest node would pass the limit; groups follow their
// first node. Threads: pure. Memory over time is not looked at. Cost: about O(nodes (64 devices) +
// edges devices).
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

Placement place_earliest(const OperatorGraph& graph, const DeviceLinks& links);
Placement place_by_rank(const OperatorGraph& graph, const DeviceLinks& links);
Placement place_in_order(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
