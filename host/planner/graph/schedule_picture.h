// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a placed graph: its timeline as SVG, and the graph itself for Graphviz.
//
// schedule_svg: a row per device with its operators, and one per link that carries tensors; a mark
// says its name and its times. Marks narrower than a tenth of a pixel that follow one another are
// one, so the size has a bound. placement_dot: a node per operator, coloured by device, with its
// start; edges between devices are bold and state their bytes. read_dot() reads it again. Threads:
// pure. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "planner/graph/device_links.h"

namespace tandem::planner {

// Borrows all.
struct PictureOfPlacement {
  const OperatorGraph& graph;
  const DeviceLinks& links;
  const std::vector<std::string>& kinds;  // names; empty: one kind
  const Placement& placement;
};

std::string schedule_svg(const PictureOfPlacement& picture);
std::string placement_dot(const PictureOfPlacement& picture);

}  // namespace tandem::planner
