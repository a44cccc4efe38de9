// SPDX-License-Identifier: Apache-2.0
//
// The rules of every placement: groups stay together, and fixed nodes stay on their device.
//
// Threads: pure. Errors: Error that names a node that is fixed to a device that does not exist, or
// that fits no device, with its bytes.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

void check_placeable(const OperatorGraph& graph, const DeviceLinks& links);

// Moves each group to the device that has most of its work, and fixed nodes to their device.
void enforce_rules(const OperatorGraph& graph, const DeviceLinks& links, Placement& placement);

}  // namespace tandem::planner
