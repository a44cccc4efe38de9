// SPDX-License-Identifier: Apache-2.0
//
// place_graph: assigns a device to every operator, by one method or by the best of all.
//
// kAuto tries one device, parts in order, ParDNN, m-ETF, HEFT, METIS and Scotch where they are
// built in, m-SCT for small graphs where Clp is, and dynamic programming on chains; then it
// searches from the best of them, and tries all placements of small graphs. The evaluator compares
// the results. The fastest one that keeps the memory limit wins, so kAuto is never worse than one
// of these methods. Every placement keeps groups and fixed nodes, and overflows are repaired.
// Threads: pure; the same input gives the same placement. Errors: Error naming what cannot be
// placed, with bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "planner/graph/device_links.h"

namespace tandem::planner {

enum class PlaceMethod { kAuto, kParDnn, kMetis, kScotch, kEarliest, kSmallComm, kChain };

struct PlacedGraph {
  Placement placement;
  std::int64_t makespan_ps = 0;
  std::vector<std::int64_t> peak_bytes;  // [num_devices]
  std::string method;                    // the winner
  // Name and makespan of each method tried; no makespan if it could not keep the memory limit.
  std::vector<std::pair<std::string, std::optional<std::int64_t>>> members;
};

PlacedGraph place_graph(const OperatorGraph& graph, const DeviceLinks& links, PlaceMethod method);

// "auto", "pardnn", "metis", "scotch", "etf", "msct", "chain". Throws Error for another name.
PlaceMethod place_method_of(std::string_view name);

}  // namespace tandem::planner
