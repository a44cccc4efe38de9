// SPDX-License-Identifier: Apache-2.0
//
// Ways are followed back from the device at which the last node ends first.
#include "planner/partition/chain_placement.h"

#include <algorithm>
#include <limits>

namespace tandem::planner {
namespace {

constexpr std::int64_t kNoWay = std::numeric_limits<std::int64_t>::max();

std::size_t chain_index(int id) { return static_cast<std::size_t>(id); }

// The ends of one node on all devices, and where the node before lies on the way there.
struct ChainStep {
  std::vector<std::int64_t> end_ps;  // [num_devices]; kNoWay: it is fixed elsewhere
  std::vector<int> before;           // [num_devices]
};

ChainStep next_step(const OperatorGraph& graph, const DeviceLinks& links, int node,
                    const ChainStep* before) {
  ChainStep step{std::vector<std::int64_t>(chain_index(links.num_devices), kNoWay),
                 std::vector<int>(chain_index(links.num_devices))};
  const int fixed = graph.device_of_unit(graph.unit_of(node));
  const std::int64_t edge_ps =
      before == nullptr ? 0 : links.edge_ps(graph.edge_bytes(graph.in(node).front()));
  for (int device = 0; device < links.num_devices; ++device) {
    if (fixed != kAnyDevice && fixed != device) continue;
    std::int64_t start = before == nullptr ? 0 : kNoWay;
    for (int from = 0; before != nullptr && from < links.num_devices; ++from) {
      if (before->end_ps[chain_index(from)] == kNoWay) continue;
      const std::int64_t there = before->end_ps[chain_index(from)] + (from == device ? 0 : edge_ps);
      if (there >= start) continue;
      start = there;
      step.before[chain_index(device)] = from;
    }
    step.end_ps[chain_index(device)] = start + links.time_ps(graph, node, device);
  }
  return step;
}

}  // namespace

bool is_chain(const OperatorGraph& graph) {
  if (graph.num_nodes() == 0 || graph.num_edges() != graph.num_nodes() - 1) return false;
  if (graph.num_units() != graph.num_nodes()) return false;
  for (int node = 0; node < graph.num_nodes(); ++node) {
    if (graph.in(node).size() > 1 || graph.out(node).size() > 1) return false;
  }
  return true;
}

Placement place_chain(const OperatorGraph& graph, const DeviceLinks& links) {
  std::vector<ChainStep> steps;
  for (const int node : graph.order()) {
    steps.push_back(next_step(graph, links, node, steps.empty() ? nullptr : &steps.back()));
  }
  Placement placement(chain_index(graph.num_nodes()));
  const auto& ends = steps.back().end_ps;
  int device = static_cast<int>(std::ranges::min_element(ends) - ends.begin());
  for (std::size_t at = steps.size(); at-- > 0;) {
    placement[chain_index(graph.order()[at])] = device;
    device = steps[at].before[chain_index(device)];
  }
  return placement;
}

}  // namespace tandem::planner
