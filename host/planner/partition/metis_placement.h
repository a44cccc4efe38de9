// SPDX-License-Identifier: Apache-2.0
//
// place_by_metis: places a graph by METIS: equal work per device, and little exchange.
//
// Edges count without direction. Requires libmetis at build time. Threads: pure. Errors: Error if
// METIS is not built in, or fails. Source: Karypis and Kumar, 1998.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

bool has_metis();
Placement place_by_metis(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
