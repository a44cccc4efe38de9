// SPDX-License-Identifier: Apache-2.0
//
// How fast the devices of a machine run a graph beside one another.
//
// Threads: pure. Errors: none. Cost: O(nodes kinds).
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

// [num_devices] the share of the work with which all end at the same time; they add up to 1.
std::vector<double> device_shares(const OperatorGraph& graph, const DeviceLinks& links);

// Devices by the time that they need for the whole graph, the fastest first.
std::vector<int> fastest_devices(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
