// SPDX-License-Identifier: Apache-2.0
//
// At one time, what began before ends first, then new spans begin, and those of no length end last.
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

std::vector<MemoryChange> changes_of(const std::vector<MemorySpan>& spans, int device) {
  std::vector<MemoryChange> changes;
  for (const MemorySpan& span : spans) {
    if (span.device != device || span.bytes == 0) continue;
    changes.push_back({span.begin_ps, 1, span.bytes});
    changes.push_back({span.end_ps, span.begin_ps < span.end_ps ? 0 : 2, -span.bytes});
  }
  std::ranges::sort(changes, {}, &MemoryChange::key);
  return changes;
}

std::int64_t resident_bytes(const OperatorGraph& graph, const Placement& placement, int device) {
  std::int64_t sum = 0;
  for (int node = 0; node < graph.num_nodes(); ++node) {
    if (placement[static_cast<std::size_t>(node)] == device) sum += graph.node(node).resident_bytes;
  }
  return sum;
}

// The tensor of one producer on one device: joined spans of its edges.
struct TensorPlace {
  int tensor, device;
  std::int64_t begin_ps, end_ps;
};

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
    const auto place_of = [&](int tensor, int device) -> TensorPlace& {
      const auto found = std::ranges::find_if(places, [&](const TensorPlace& each) {
        return each.device == device && each.tensor == tensor;
      });
      if (found != places.end()) return *found;
      return places.emplace_back(TensorPlace{tensor, device, start, end});
    };
    for (const int id : graph_.out(node)) {
      const OperatorEdge& edge = graph_.edge(id);
      const std::int64_t used = schedule_.end_ps[at(edge.to)];
      if (placement[at(edge.to)] == here) {
        TensorPlace& own = place_of(edge.tensor, here);
        own.end_ps = std::max(own.end_ps, used);
        continue;
      }
      TensorPlace& own = place_of(edge.tensor, here);
      own.end_ps = std::max(own.end_ps, sent_end_[at(id)]);
      TensorPlace& copy = place_of(edge.tensor, placement[at(edge.to)]);
      copy.begin_ps = sent_begin_[at(id)];
      copy.end_ps = std::max(copy.end_ps, used);
    }
    for (const TensorPlace& place : places) {
      spans.push_back({place.begin_ps, place.end_ps, graph_.tensors()[at(place.tensor)].bytes,
                       place.device, node});
    }
  }
  return spans;
}

std::vector<std::int64_t> peak_bytes(const OperatorGraph& graph, const DeviceLinks& links,
                                     const Placement& placement,
                                     const std::vector<MemorySpan>& spans) {
  std::vector<std::int64_t> peaks;
  for (int device = 0; device < links.num_devices; ++device) {
    std::int64_t now = resident_bytes(graph, placement, device), most = now;
    for (const MemoryChange& change : changes_of(spans, device)) {
      now += change.bytes;
      most = std::max(most, now);
    }
    peaks.push_back(most);
  }
  return peaks;
}

std::int64_t first_overflow_ps(const OperatorGraph& graph, const Placement& placement,
                               const std::vector<MemorySpan>& spans, int device,
                               std::int64_t limit) {
  std::int64_t now = resident_bytes(graph, placement, device);
  if (now > limit) return 0;
  for (const MemoryChange& change : changes_of(spans, device)) {
    now += change.bytes;
    if (now > limit) return change.time_ps;
  }
  return -1;
}

}  // namespace tandem::planner
