// SPDX-License-Identifier: Apache-2.0
//
// place_by_metis: METIS's multilevel partition: equal work per device, little exchange.
//
// Directions of edges count not. Needs libmetis when Tandem is built. Threads: pure. Errors: Error
// where METIS is not built in or fails. Source: Karypis and Kumar, 1998.
#pragma once

#include "planner/graph/device_links.h"

namespace tandem::planner {

bool has_metis();
Placement place_by_metis(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
