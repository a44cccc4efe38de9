// SPDX-License-Identifier: Apache-2.0
//
// Links are taken as free here; the evaluator judges with serial ones.
#include "planner/partition/list_placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/partition/device_speed.h"
#include "planner/partition/favourite_children.h"
#include "planner/partition/levels.h"

namespace tandem::planner {
namespace {

std::size_t place_of(int id) { return static_cast<std::size_t>(id); }

std::vector<std::int64_t> ways_of(const OperatorGraph& graph, const DeviceLinks& links) {
  const std::vector<int> none(place_of(graph.num_nodes()), kNoCluster);
  return levels_of(graph, links, none).bottom_ps;
}

// Devices fill up as nodes are placed.
class GrowingPlacement {
 public:
  // favourites: [num_nodes], or empty.
  GrowingPlacement(const OperatorGraph& graph, const DeviceLinks& links,
                   const std::vector<int>& favourites = {})
      : graph_(graph),
        links_(links),
        favourites_(favourites),
        last_(place_of(links.num_devices), kNoFavourite),
        num_missing_(place_of(graph.num_nodes())),
        placement_(place_of(graph.num_nodes()), kAnyDevice),
        end_ps_(place_of(graph.num_nodes())),
        free_ps_(place_of(links.num_devices)),
        resident_(place_of(links.num_devices)),
        unit_device_(place_of(graph.num_units()), kAnyDevice) {
    for (int unit = 0; unit < graph.num_units(); ++unit) {
      unit_device_[place_of(unit)] = graph.device_of_unit(unit);
    }
    for (int node = 0; node < graph.num_nodes(); ++node) {
      num_missing_[place_of(node)] = static_cast<int>(graph.in(node).size());
    }
    if (favourites.empty()) return;
    parents_.assign(favourites.size(), kNoFavourite);
    for (int node = 0; node < graph.num_nodes(); ++node) {
      const int child = favourites[place_of(node)];
      if (child != kNoFavourite) parents_[place_of(child)] = node;
    }
  }

  std::int64_t data_ps(int node, int device) const {
    std::int64_t most = 0;
    for (const int id : graph_.in(node)) {
      const int from = graph_.edge(id).from;
      const bool is_near = placement_[place_of(from)] == device;
      most = std::max(
          most, end_ps_[place_of(from)] + (is_near ? 0 : links_.edge_ps(graph_.edge_bytes(id))));
    }
    return most;
  }

  // A favourite child goes to its parent's device if that has room.
  bool may_take(int node, int device) const {
    if (!has_room(node, device)) return false;
    const int parent = parents_.empty() ? kNoFavourite : parents_[place_of(node)];
    if (parent == kNoFavourite) return true;
    const int near = placement_[place_of(parent)];
    return device == near || !has_room(node, near);
  }

  bool has_room(int node, int device) const {
    const int fixed = unit_device_[place_of(graph_.unit_of(node))];
    if (fixed != kAnyDevice) return fixed == device;
    const OperatorNode& each = graph_.node(node);
    const std::int64_t rest = links_.memory_of(device) - resident_[place_of(device)];
    return each.resident_bytes <= rest && each.output_bytes <= rest - each.resident_bytes;
  }

  std::int64_t time_ps(int node, int device) const { return links_.time_ps(graph_, node, device); }
  // When the device can begin the node. A favourite child that is ready goes before others.
  std::int64_t free_ps(int node, int device) const {
    const int last = last_[place_of(device)];
    const int child =
        favourites_.empty() || last == kNoFavourite ? kNoFavourite : favourites_[place_of(last)];
    const bool waits = child != kNoFavourite && child != node &&
                       placement_[place_of(child)] == kAnyDevice &&
                       num_missing_[place_of(child)] == 0 && may_take(child, device);
    return free_ps_[place_of(device)] + (waits ? time_ps(child, device) : 0);
  }

  bool is_ready(int node) const { return num_missing_[place_of(node)] == 0; }

  void place(int node, int device, std::int64_t start) {
    placement_[place_of(node)] = device;
    unit_device_[place_of(graph_.unit_of(node))] = device;
    end_ps_[place_of(node)] = start + time_ps(node, device);
    free_ps_[place_of(device)] = end_ps_[place_of(node)];
    resident_[place_of(device)] += graph_.node(node).resident_bytes;
    last_[place_of(device)] = node;
    for (const int id : graph_.out(node)) --num_missing_[place_of(graph_.edge(id).to)];
  }

  Placement finish() { return std::move(placement_); }

 private:
  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  const std::vector<int> favourites_;
  std::vector<int> parents_;  // [num_nodes] whose favourite a node is; empty without favourites
  std::vector<int> last_;     // [num_devices] the node placed last
  std::vector<int> num_missing_;
  Placement placement_;
  std::vector<std::int64_t> end_ps_, free_ps_, resident_;
  std::vector<int> unit_device_;
};

// The device that ends a node first, and the start there. If no device has room, all are
// considered.
std::pair<std::int64_t, int> earliest_start(const GrowingPlacement& growing, int node,
                                            const std::vector<std::int64_t>& data_ps) {
  std::pair<std::int64_t, int> best{kMostGraphPs * 4, 0};  // by end
  for (const bool asks : {true, false}) {
    for (std::size_t device = 0; device < data_ps.size(); ++device) {
      const int number = static_cast<int>(device);
      if (asks && !growing.may_take(node, number)) continue;
      const std::int64_t start = std::max(data_ps[device], growing.free_ps(node, number));
      best = std::min(best, {start + growing.time_ps(node, number), number});
    }
    if (best.first < kMostGraphPs * 4) break;
  }
  return {best.first - growing.time_ps(node, best.second), best.second};
}

std::vector<std::int64_t> data_times(const GrowingPlacement& growing, int node, int num_devices) {
  std::vector<std::int64_t> times;
  for (int device = 0; device < num_devices; ++device)
    times.push_back(growing.data_ps(node, device));
  return times;
}

Placement place_ready(const OperatorGraph& graph, const DeviceLinks& links,
                      GrowingPlacement growing) {
  constexpr int kMostSeen = 64;
  const std::vector<std::int64_t> ways = ways_of(graph, links);
  std::vector<std::vector<std::int64_t>> data(place_of(graph.num_nodes()));
  std::set<std::pair<std::int64_t, int>> ready;  // by the way to the end, longest first
  const auto make_ready = [&](int node) {
    data[place_of(node)] = data_times(growing, node, links.num_devices);
    ready.emplace(-ways[place_of(node)], node);
  };
  for (int node = 0; node < graph.num_nodes(); ++node) {
    if (growing.is_ready(node)) make_ready(node);
  }
  while (!ready.empty()) {
    auto best = ready.begin();
    std::pair<std::int64_t, int> first{kMostGraphPs * 4, 0};
    int seen = 0;
    for (auto each = ready.begin(); each != ready.end() && seen < kMostSeen; ++each, ++seen) {
      const auto start = earliest_start(growing, each->second, data[place_of(each->second)]);
      if (start.first >= first.first) continue;
      first = start;
      best = each;
    }
    const int node = best->second;
    ready.erase(best);
    growing.place(node, first.second, first.first);
    std::vector<std::int64_t>().swap(data[place_of(node)]);
    std::set<int> consumers;  // once each, however many tensors they take
    for (const int id : graph.out(node)) consumers.insert(graph.edge(id).to);
    for (const int to : consumers) {
      if (growing.is_ready(to)) make_ready(to);
    }
  }
  return growing.finish();
}

}  // namespace

Placement place_earliest(const OperatorGraph& graph, const DeviceLinks& links) {
  return place_ready(graph, links, GrowingPlacement(graph, links));
}

Placement place_small_communication(const OperatorGraph& graph, const DeviceLinks& links) {
  return place_ready(graph, links,
                     GrowingPlacement(graph, links, favourite_children(graph, links)));
}

Placement place_by_rank(const OperatorGraph& graph, const DeviceLinks& links) {
  const std::vector<std::int64_t> ways = ways_of(graph, links);
  std::vector<int> nodes(graph.order());  // stable: producers of no time stay before consumers
  std::ranges::stable_sort(nodes, std::greater<>(), [&](int node) { return ways[place_of(node)]; });
  GrowingPlacement growing(graph, links);
  for (const int node : nodes) {
    const auto start = earliest_start(growing, node, data_times(growing, node, links.num_devices));
    growing.place(node, start.second, start.first);
  }
  return growing.finish();
}

Placement place_in_order(const OperatorGraph& graph, const DeviceLinks& links) {
  Placement placement(place_of(graph.num_nodes()));
  const std::vector<double> shares = device_shares(graph, links);
  double before = 0, end = shares[0] * static_cast<double>(graph.work_ps());
  int device = 0;
  for (const int node : graph.order()) {
    const auto time = static_cast<double>(graph.node(node).time_ps);
    while (before + time / 2 >= end && end > 0 && device + 1 < links.num_devices) {
      end += shares[place_of(++device)] * static_cast<double>(graph.work_ps());
    }
    placement[place_of(node)] = device;
    before += time;
  }
  return placement;
}

}  // namespace tandem::planner
