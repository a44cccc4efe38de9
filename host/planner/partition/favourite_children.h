// SPDX-License-Identifier: Apache-2.0
//
// favourite_children: for m-SCT, the consumer of each node that should follow it on its device.
//
// A linear programme gives every edge a share x of its communication, 0..1, and every node a start.
// It minimises the end of the last node. At most one of a node's edges to consumers is free (the
// sum of 1 - x is at most 1), and at most one of its edges from producers. Edges with x below a
// half name favourites. Requires Clp at build time. Threads: pure. Errors: Error if Clp is not
// built in, if the graph is too large, or if Clp finds no optimum in a minute. Sources: Hanen and
// Munier, 1995; Jeon et al., Baechi, 2020.
#pragma once

#include <vector>

#include "planner/graph/device_links.h"

namespace tandem::planner {

constexpr int kNoFavourite = -1;
constexpr int kMostFavouriteEdges = 20'000;

bool has_linear_solver();
// [num_nodes] A consumer, or kNoFavourite. No node is the favourite of two producers.
std::vector<int> favourite_children(const OperatorGraph& graph, const DeviceLinks& links);

}  // namespace tandem::planner
