// SPDX-License-Identifier: Apache-2.0
//
// Sums are doubles: only their ratios count.
#include "planner/partition/device_speed.h"

#include <numeric>

namespace tandem::planner {
namespace {

// [num_devices] of all nodes.
std::vector<double> whole_times(const OperatorGraph& graph, const DeviceLinks& links) {
  std::vector<double> by_kind(static_cast<std::size_t>(graph.num_kinds()));
  for (int kind = 0; kind < graph.num_kinds(); ++kind) {
    for (int node = 0; node < graph.num_nodes(); ++node) {
      by_kind[static_cast<std::size_t>(kind)] += static_cast<double>(graph.time_ps(node, kind));
    }
  }
  std::vector<double> times;
  for (int device = 0; device < links.num_devices; ++device) {
    const int kind = graph.num_kinds() == 1 ? 0 : links.kind_of(device);
    times.push_back(by_kind[static_cast<std::size_t>(kind)]);
  }
  return times;
}

}  // namespace

std::vector<double> device_shares(const OperatorGraph& graph, const DeviceLinks& links) {
  std::vector<double> shares;
  for (const double time : whole_times(graph, links)) shares.push_back(1 / (time + 1));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<int> fastest_devices(const OperatorGraph& graph, const DeviceLinks& links) {
  const std::vector<double> times = whole_times(graph, links);
  std::vector<int> devices(times.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::ranges::stable_sort(devices, {},
                           [&](int device) { return times[static_cast<std::size_t>(device)]; });
  return devices;
}

}  // namespace tandem::planner
