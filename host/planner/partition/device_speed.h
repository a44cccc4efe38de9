// SPDX-License-Identifier: Apache-2.0
//
// Compares how fast the devices of a machine run a graph.
//
// Threads: pure. Errors: none. Cost: O(nodes kinds).
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

// [num_devices] The shares of the work with which all devices end at the same time. Their sum is 1.
std::vector<double> device_shares(const OperatorGraph& graph, const DeviceLinks& links);

// Returns the devices sorted by their time for the whole graph, the fastest first.
std::vector<int> fastest_devices(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
