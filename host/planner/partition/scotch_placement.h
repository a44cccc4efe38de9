// SPDX-License-Identifier: Apache-2.0
//
// place_by_scotch: Scotch's mapping: work per device by its speed, little exchange.
//
// Edges count without direction. Requires libscotch at build time. Threads: one; pure, the same
// input gives the same placement. Errors: Error if Scotch is not built in, or fails. Source:
// Pellegrini and Roman, 1996.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

bool has_scotch();
Placement place_by_scotch(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
