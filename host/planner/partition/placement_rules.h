// SPDX-License-Identifier: Apache-2.0
//
// Rules that every placement keeps: groups together, fixed nodes where they are fixed.
//
// Threads: pure. Errors: Error naming a node that is fixed to a device that is not there, or that
// fits no device with its bytes.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

void check_placeable(const OperatorGraph& graph, const DeviceLinks& links);

// Puts each group where most of its work lies, and fixed ones where they belong.
void keep_rules(const OperatorGraph& graph, const DeviceLinks& links, Placement& placement);

}  // namespace tandem::planner
