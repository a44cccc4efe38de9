// SPDX-License-Identifier: Apache-2.0
//
// A node needs at least its own memory and, while it runs, its inputs.
#include "planner/partition/placement_rules.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace tandem::planner {
namespace {

// On the node's device while it runs; a shared tensor counts once.
std::int64_t least_bytes(const OperatorGraph& graph, int node) {
  const OperatorNode& own = graph.node(node);
  std::int64_t sum = own.resident_bytes + own.workspace_bytes + own.output_bytes;
  for (const int id : graph.out(node)) {
    const int tensor = graph.edge(id).tensor;
    if (tensor != node) sum += graph.tensors()[static_cast<std::size_t>(tensor)].bytes;
  }
  std::vector<int> inputs;
  for (const int id : graph.in(node)) inputs.push_back(graph.edge(id).tensor);
  std::ranges::sort(inputs);
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  for (const int tensor : inputs) sum += graph.tensors()[static_cast<std::size_t>(tensor)].bytes;
  return sum;
}

[[noreturn]] void refuse_placing(const std::string& what) { throw Error("place", what); }

// What is resident of a group lies on one device, and so do all nodes that are fixed to it.
void check_resident(const OperatorGraph& graph, const DeviceLinks& links, std::int64_t largest) {
  std::vector<double> fixed(static_cast<std::size_t>(links.num_devices));
  for (int unit = 0; unit < graph.num_units(); ++unit) {
    double bytes = 0;
    for (const int node : graph.unit(unit)) {
      bytes += static_cast<double>(graph.node(node).resident_bytes);
    }
    const int device = graph.device_of_unit(unit);
    if (device != kAnyDevice) fixed[static_cast<std::size_t>(device)] += bytes;
    const OperatorNode& first = graph.node(graph.unit(unit).front());
    if (graph.unit(unit).size() > 1 && bytes > static_cast<double>(largest)) {
      refuse_placing("group '" + first.group + "' fits no device: its " +
                     std::to_string(graph.unit(unit).size()) + " nodes hold " +
                     std::to_string(static_cast<std::int64_t>(bytes)) +
                     " bytes all the time, and a device has " + std::to_string(largest));
    }
  }
  for (int device = 0; device < links.num_devices; ++device) {
    const double bytes = fixed[static_cast<std::size_t>(device)];
    if (bytes <= static_cast<double>(links.memory_of(device))) continue;
    refuse_placing("the nodes that are fixed to device " + std::to_string(device) + " hold " +
                   std::to_string(static_cast<std::int64_t>(bytes)) +
                   " bytes all the time, and it has " + std::to_string(links.memory_of(device)));
  }
}

}  // namespace

void check_placeable(const OperatorGraph& graph, const DeviceLinks& links) {
  double resident = 0, edges_ps = 0, room = 0;
  std::int64_t largest = 0;
  for (int device = 0; device < links.num_devices; ++device) {
    room += static_cast<double>(links.memory_of(device));
    largest = std::max(largest, links.memory_of(device));
    if (links.kind_of(device) >= graph.num_kinds() && graph.num_kinds() > 1) {
      refuse_placing("the nodes have no times for the kind of device " + std::to_string(device));
    }
  }
  for (int id = 0; id < graph.num_edges(); ++id) {
    edges_ps += static_cast<double>(links.edge_ps(graph.edge_bytes(id)));
  }
  if (edges_ps > static_cast<double>(kMostGraphPs)) {
    refuse_placing("the edges take more than ten days together; give more bandwidth");
  }
  for (int node = 0; node < graph.num_nodes(); ++node) {
    const OperatorNode& own = graph.node(node);
    if (own.device >= links.num_devices) {
      refuse_placing("node '" + own.name + "' is fixed to device " + std::to_string(own.device) +
                     ", but there are " + std::to_string(links.num_devices) + " from 0");
    }
    if (!links.has_memory_limit()) continue;
    const std::int64_t bytes = least_bytes(graph, node);
    const int fixed = graph.device_of_unit(graph.unit_of(node));
    const bool is_fixed = fixed != kAnyDevice && fixed < links.num_devices;
    const std::int64_t memory = is_fixed ? links.memory_of(fixed) : largest;
    if (bytes > memory) {
      refuse_placing("node '" + own.name + "' fits no device: with its inputs and its output it " +
                     "needs " + std::to_string(bytes) + " bytes, and a device has " +
                     std::to_string(memory));
    }
    resident += static_cast<double>(own.resident_bytes);
  }
  if (!links.has_memory_limit()) return;
  check_resident(graph, links, largest);
  if (resident > room) {
    refuse_placing("the resident memory of all nodes is larger than that of all " +
                   std::to_string(links.num_devices) + " devices; give more memory or devices");
  }
}

void enforce_rules(const OperatorGraph& graph, const DeviceLinks& links, Placement& placement) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(links.num_devices));
  for (int unit = 0; unit < graph.num_units(); ++unit) {
    const auto nodes = graph.unit(unit);
    int device = graph.device_of_unit(unit);
    if (device == kAnyDevice && nodes.size() == 1) continue;
    if (device == kAnyDevice) {
      std::ranges::fill(work, 0);
      for (const int node : nodes) {
        const int here = placement[static_cast<std::size_t>(node)];
        work[static_cast<std::size_t>(here)] += graph.node(node).time_ps + 1;
      }
      device = static_cast<int>(std::ranges::max_element(work) - work.begin());
    }
    for (const int node : nodes) placement[static_cast<std::size_t>(node)] = device;
  }
}

}  // namespace tandem::planner
