// SPDX-License-Identifier: Apache-2.0
//
// What tests of placements share: the rules, and the best of all placements of a small graph.
#pragma once

#include "planner/graph/schedule.h"
#include "planner/partition/place_graph.h"

namespace tandem::planner {

inline constexpr PlaceMethod kMethods[] = {PlaceMethod::kAuto, PlaceMethod::kParDnn,
                                           PlaceMethod::kEarliest};

inline bool keeps_rules(const OperatorGraph& graph, const Placement& placement) {
  for (int node = 0; node < graph.num_nodes(); ++node) {
    const int unit = graph.unit_of(node), here = placement[static_cast<std::size_t>(node)];
    const int first = graph.unit(unit).front();
    if (placement[static_cast<std::size_t>(first)] != here) return false;
    if (graph.device_of_unit(unit) != kAnyDevice && graph.device_of_unit(unit) != here)
      return false;
  }
  return true;
}

// The least makespan of all placements that keep rules and memory; -1 where none does.
inline std::int64_t least_makespan(const OperatorGraph& graph, const DeviceLinks& links) {
  Evaluator evaluator(graph, links);
  std::int64_t least = -1;
  Placement placement(static_cast<std::size_t>(graph.num_nodes()));
  for (std::size_t at = 0; at < placement.size();) {
    if (keeps_rules(graph, placement)) {
      const std::int64_t makespan = evaluator.run(placement).makespan_ps;
      const auto peaks = peak_bytes(graph, links, placement, evaluator.memory_spans(placement));
      const bool fits = links.fits(peaks);
      if (fits && (least < 0 || makespan < least)) least = makespan;
    }
    for (at = 0; at < placement.size() && ++placement[at] == links.num_devices; ++at) {
      placement[at] = 0;
    }
  }
  return least;
}

}  // namespace tandem::planner
