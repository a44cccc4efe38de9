// SPDX-License-Identifier: Apache-2.0
//
// Draws a placed graph: its timeline as SVG, and the graph itself as DOT text for Graphviz.
//
// schedule_svg(): one row per device with its operators, and one per link that carries tensors. A
// tooltip shows name and times. Consecutive marks narrower than a tenth of a pixel are merged, so
// the size is bounded. placement_dot(): one node per operator with its start, coloured by device.
// Edges between devices are bold and show their bytes; read_dot() can read the text. Threads: pure.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "planner/graph/device_links.h"

namespace tandem::planner {

// Borrows all members.
struct PictureOfPlacement {
  const OperatorGraph& graph;
  const DeviceLinks& links;
  const std::vector<std::string>& kinds;  // names of the kinds of devices; empty: one kind
  const Placement& placement;
};

std::string schedule_svg(const PictureOfPlacement& picture);
std::string placement_dot(const PictureOfPlacement& picture);

}  // namespace tandem::planner
