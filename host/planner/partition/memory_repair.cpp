// SPDX-License-Identifier: Apache-2.0
//
// One step: emulate, find the first overflow, move the best candidate.
#include "planner/partition/memory_repair.h"

#include <algorithm>
#include <limits>

namespace tandem::planner {
namespace {

constexpr int kMostMovesOfUnit = 2;

struct Overflow {
  int device = -1;
  std::int64_t time_ps = 0;
};

class MemoryRepair {
 public:
  MemoryRepair(const OperatorGraph& graph, const DeviceLinks& links, Evaluator& evaluator,
               Placement& placement)
      : graph_(graph),
        links_(links),
        evaluator_(evaluator),
        placement_(placement),
        num_moves_(static_cast<std::size_t>(graph.num_units())),
        freed_(static_cast<std::size_t>(graph.num_units())) {}

  bool run() {
    // A bound of the time for graphs that cannot be repaired move by move.
    constexpr std::int64_t kMostNodesSeen = 200'000'000;
    const std::int64_t per_step = graph_.num_nodes() + graph_.num_edges();
    for (std::int64_t seen = 0; seen < kMostNodesSeen; seen += per_step) {
      evaluator_.run(placement_);
      spans_ = evaluator_.memory_spans(placement_);
      peaks_ = peak_bytes(graph_, links_, placement_, spans_);
      const Overflow first = first_overflow();
      if (first.device < 0) return true;
      if (!move_from(first)) return false;
    }
    return false;
  }

 private:
  Overflow first_overflow() const {
    Overflow first;
    for (int device = 0; device < links_.num_devices; ++device) {
      if (peaks_[static_cast<std::size_t>(device)] <= links_.memory_of(device)) continue;
      const std::int64_t time =
          first_overflow_ps(graph_, placement_, spans_, device, links_.memory_of(device));
      if (first.device < 0 || time < first.time_ps) first = {device, time};
    }
    return first;
  }

  // Bytes of each unit on the device at the time, in freed_. Copies go with their consumers.
  std::vector<int> candidates(const Overflow& at) {
    std::ranges::fill(freed_, 0);
    for (const MemorySpan& span : spans_) {
      const bool is_alive =
          span.begin_ps <= at.time_ps && (at.time_ps < span.end_ps || span.begin_ps == at.time_ps);
      if (!is_alive || span.device != at.device) continue;
      if (placement_[static_cast<std::size_t>(span.node)] == at.device) {
        add(span.node, span.bytes);
        continue;
      }
      for (const int id : graph_.out(span.node)) {
        const int to = graph_.edge(id).to;
        if (placement_[static_cast<std::size_t>(to)] == at.device) add(to, span.bytes);
      }
    }
    std::vector<int> units;
    for (int unit = 0; unit < graph_.num_units(); ++unit) {
      const auto nodes = graph_.unit(unit);
      if (placement_[static_cast<std::size_t>(nodes.front())] != at.device) continue;
      for (const int node : nodes) {
        add(node, graph_.node(node).resident_bytes);
      }
      const bool is_movable = graph_.device_of_unit(unit) == kAnyDevice &&
                              num_moves_[static_cast<std::size_t>(unit)] < kMostMovesOfUnit;
      if (is_movable && freed_[static_cast<std::size_t>(unit)] > 0) units.push_back(unit);
    }
    return units;
  }

  void add(int node, std::int64_t bytes) {
    // A tensor counts for each of its consumers, so sums may pass all that there is.
    std::int64_t& sum = freed_[static_cast<std::size_t>(graph_.unit_of(node))];
    sum = std::min(sum + bytes, kMostGraphBytes);
  }

  double exchange_us(int unit) const {
    double sum = 0;
    for (const int node : graph_.unit(unit)) {
      const auto add_edge = [&](int id, int other) {
        if (graph_.unit_of(other) == unit) return;
        sum +=
            static_cast<double>(links_.edge_ps(graph_.edge_bytes(id))) / kPicosecondsPerMicrosecond;
      };
      for (const int id : graph_.in(node)) add_edge(id, graph_.edge(id).from);
      for (const int id : graph_.out(node)) add_edge(id, graph_.edge(id).to);
    }
    return sum;
  }

  std::int64_t room_of(int device) const {
    return links_.memory_of(device) - peaks_[static_cast<std::size_t>(device)];
  }

  bool move_from(const Overflow& at) {
    if (links_.num_devices < 2) return false;
    int target = -1;
    for (int device = 0; device < links_.num_devices; ++device) {
      if (device == at.device) continue;
      if (target < 0 || room_of(device) > room_of(target)) target = device;
    }
    const std::int64_t room = room_of(target);
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    bool best_fits = false;
    for (const int unit : candidates(at)) {
      const std::int64_t bytes = freed_[static_cast<std::size_t>(unit)];
      const double rating = (exchange_us(unit) + 1) / (static_cast<double>(bytes) + 0.1);
      const bool fits = bytes <= room;
      if (fits < best_fits || (fits == best_fits && rating >= least)) continue;
      best = unit;
      least = rating;
      best_fits = fits;
    }
    if (best < 0) return false;
    ++num_moves_[static_cast<std::size_t>(best)];
    for (const int node : graph_.unit(best)) placement_[static_cast<std::size_t>(node)] = target;
    return true;
  }

  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  Evaluator& evaluator_;
  Placement& placement_;
  std::vector<int> num_moves_;
  std::vector<std::int64_t> freed_, peaks_;
  std::vector<MemorySpan> spans_;
};

}  // namespace

bool repair_memory(const OperatorGraph& graph, const DeviceLinks& links, Evaluator& evaluator,
                   Placement& placement) {
  return MemoryRepair(graph, links, evaluator, placement).run();
}

}  // namespace tandem::planner
