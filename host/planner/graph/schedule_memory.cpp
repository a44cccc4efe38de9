// SPDX-License-Identifier: Apache-2.0
//
// At equal times earlier spans end first, then new spans begin, and then spans of no length end.
#include <algorithm>

#include "planner/graph/schedule.h"

namespace tandem::planner {
namespace {

struct MemoryChange {
  std::int64_t time_ps;
  int rank;
  std::int64_t bytes;

  auto key() const { return std::pair(time_ps, rank); }
};

void sort_changes(std::vector<MemoryChange>& changes) {
  std::ranges::sort(changes, {}, &MemoryChange::key);
}

void add_changes(const MemorySpan& span, std::vector<MemoryChange>& changes) {
  if (span.bytes == 0) return;
  changes.push_back({span.begin_ps, 1, span.bytes});
  changes.push_back({span.end_ps, span.begin_ps < span.end_ps ? 0 : 2, -span.bytes});
}

// The tensor of one producer on one device: joined spans of its edges.
struct TensorPlace {
  int tensor, device;
  std::int64_t begin_ps, end_ps;

  auto key() const { return std::pair(tensor, device); }
};

// Sorts places and joins those of one tensor on one device.
void join_places(std::vector<TensorPlace>& places) {
  std::ranges::sort(places, {}, &TensorPlace::key);
  std::size_t count = 0;
  for (const TensorPlace& place : places) {
    if (count > 0 && places[count - 1].key() == place.key()) {
      TensorPlace& before = places[count - 1];
      before.begin_ps = std::min(before.begin_ps, place.begin_ps);
      before.end_ps = std::max(before.end_ps, place.end_ps);
    } else {
      places[count++] = place;
    }
  }
  places.resize(count);
}

}  // namespace

std::vector<MemorySpan> Evaluator::memory_spans(const Placement& placement) const {
  const auto at = [](int id) { return static_cast<std::size_t>(id); };
  std::vector<MemorySpan> spans;
  std::vector<TensorPlace> places;
  for (int node = 0; node < graph_.num_nodes(); ++node) {
    const std::int64_t start = schedule_.start_ps[at(node)], end = schedule_.end_ps[at(node)];
    const int here = placement[at(node)];
    spans.push_back({start, end, graph_.node(node).workspace_bytes, here, node});
    places.assign(1, {node, here, start, end});
    for (const int id : graph_.out(node)) {
      const OperatorEdge& edge = graph_.edge(id);
      const std::int64_t used = schedule_.end_ps[at(edge.to)];
      const int there = placement[at(edge.to)];
      const bool is_near = there == here;
      places.push_back(
          {edge.tensor, here, start, std::max(end, is_near ? used : sent_end_[at(id)])});
      if (!is_near) places.push_back({edge.tensor, there, sent_begin_[at(id)], used});
    }
    join_places(places);
    for (const TensorPlace& place : places) {
      spans.push_back({place.begin_ps, place.end_ps, graph_.tensors()[at(place.tensor)].bytes,
                       place.device, node});
    }
  }
  return spans;
}

std::vector<TensorTransfer> Evaluator::transfers(const Placement& placement) const {
  std::vector<TensorTransfer> list;
  std::vector<std::pair<int, int>> sent;  // tensor and device, of one node
  for (int node = 0; node < graph_.num_nodes(); ++node) {
    sent.clear();
    const int from = placement[static_cast<std::size_t>(node)];
    for (const int id : graph_.out(node)) {
      const OperatorEdge& edge = graph_.edge(id);
      const int to = placement[static_cast<std::size_t>(edge.to)];
      const std::pair<int, int> key{edge.tensor, to};
      if (to == from || std::ranges::find(sent, key) != sent.end()) continue;
      sent.push_back(key);
      const auto at = static_cast<std::size_t>(id);
      list.push_back({id, from, to, sent_begin_[at], sent_end_[at] - links_.latency_ps});
    }
  }
  return list;
}

std::vector<std::int64_t> peak_bytes(const OperatorGraph& graph, const DeviceLinks& links,
                                     const Placement& placement,
                                     const std::vector<MemorySpan>& spans) {
  const auto num_devices = static_cast<std::size_t>(links.num_devices);
  std::vector<std::int64_t> now(num_devices);
  for (int node = 0; node < graph.num_nodes(); ++node) {
    const auto device = static_cast<std::size_t>(placement[static_cast<std::size_t>(node)]);
    now[device] += graph.node(node).resident_bytes;
  }
  std::vector<std::vector<MemoryChange>> changes(num_devices);
  for (const MemorySpan& span : spans) {
    add_changes(span, changes[static_cast<std::size_t>(span.device)]);
  }
  std::vector<std::int64_t> peaks = now;
  for (std::size_t device = 0; device < num_devices; ++device) {
    sort_changes(changes[device]);
    for (const MemoryChange& change : changes[device]) {
      now[device] += change.bytes;
      peaks[device] = std::max(peaks[device], now[device]);
    }
  }
  return peaks;
}

std::int64_t first_overflow_ps(const OperatorGraph& graph, const Placement& placement,
                               const std::vector<MemorySpan>& spans, int device,
                               std::int64_t limit) {
  std::int64_t now = 0;
  for (int node = 0; node < graph.num_nodes(); ++node) {
    if (placement[static_cast<std::size_t>(node)] == device) now += graph.node(node).resident_bytes;
  }
  if (now > limit) return 0;
  std::vector<MemoryChange> changes;
  for (const MemorySpan& span : spans) {
    if (span.device == device) add_changes(span, changes);
  }
  sort_changes(changes);
  for (const MemoryChange& change : changes) {
    now += change.bytes;
    if (now > limit) return change.time_ps;
  }
  return -1;
}

}  // namespace tandem::planner
