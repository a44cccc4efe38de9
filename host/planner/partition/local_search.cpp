// SPDX-License-Identifier: Apache-2.0
//
// A move is undone if its schedule is not accepted.
#include "planner/partition/local_search.h"

#include <algorithm>
#include <random>
#include <utility>

namespace tandem::planner {
namespace {

// Threshold at the start of a round, of the makespan.
constexpr double kFirstTolerance = 0.003;
constexpr std::int64_t kRounds = 4;  // each from the best placement so far

struct ChainLink {
  int node = 0, before = 0;  // `node` waits for `before`
};

class PlacementSearch {
 public:
  PlacementSearch(const OperatorGraph& graph, const DeviceLinks& links,
                  const LinearClusters& clusters, const Placement& start, std::uint64_t seed)
      : graph_(graph),
        links_(links),
        clusters_(clusters),
        evaluator_(graph, links),
        random_(seed),
        placement_(start),
        best_(start),
        position_(start.size()) {
    for (const auto& path : clusters.paths) {
      for (std::size_t i = 0; i < path.size(); ++i) position_[index(path[i])] = i;
    }
    makespan_ps_ = best_ps_ = evaluator_.run(placement_).makespan_ps;
    trace_chain();
  }

  Placement run(std::int64_t steps) {
    const std::int64_t per_round = std::max<std::int64_t>(1, steps / kRounds);
    // Moves without an effect do not count as steps, because there may be no others.
    constexpr std::int64_t kDrawsPerStep = 8;
    std::int64_t step = 0;
    for (std::int64_t draws = 0; draws < kDrawsPerStep * steps; ++draws) {
      if (step >= steps || chain_.empty()) break;
      if (step % per_round == 0 && step > 0) return_to_best();
      const double left =
          1 - static_cast<double>(step % per_round) / static_cast<double>(per_round);
      const double tolerance = kFirstTolerance * left * left * static_cast<double>(best_ps_);
      if (try_move(static_cast<std::int64_t>(tolerance))) ++step;
    }
    return std::move(best_);
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  int draw(std::size_t count) {
    return static_cast<int>(std::uniform_int_distribution<std::size_t>(0, count - 1)(random_));
  }

  bool consumes(int node, int producer) const {
    return std::ranges::any_of(graph_.in(node),
                               [&](int id) { return graph_.edge(id).from == producer; });
  }

  // The links of the chain where another placement could gain; with several kinds of devices all.
  void trace_chain() {
    const Schedule& schedule = evaluator_.schedule();
    chain_.clear();
    int node =
        static_cast<int>(std::ranges::max_element(schedule.end_ps) - schedule.end_ps.begin());
    for (int before = schedule.waits_for[index(node)]; before >= 0;
         node = before, before = schedule.waits_for[index(node)]) {
      if (graph_.num_kinds() > 1 || placement_[index(node)] != placement_[index(before)] ||
          !consumes(node, before)) {
        chain_.push_back({node, before});
      }
    }
  }

  void return_to_best() {
    placement_ = best_;
    makespan_ps_ = evaluator_.run(placement_).makespan_ps;
    trace_chain();
  }

  void take(int node) {
    for (const int each : graph_.unit(graph_.unit_of(node))) {
      if (graph_.device_of_unit(graph_.unit_of(node)) == kAnyDevice) moved_.push_back(each);
    }
  }

  // The unit of a node, or the run of its cluster on its device.
  void choose_moved(int node) {
    moved_.clear();
    const int kind = draw(3);
    if (kind == 0) return take(node);
    const std::vector<int>& path = clusters_.paths[index(clusters_.cluster_of[index(node)])];
    const int here = placement_[index(node)];
    std::size_t first = position_[index(node)], last = first;
    while (last + 1 < path.size() && placement_[index(path[last + 1])] == here) ++last;
    if (kind == 2) {
      while (first > 0 && placement_[index(path[first - 1])] == here) --first;
    }
    for (std::size_t i = first; i <= last; ++i) take(path[i]);
  }

  // Whether a schedule was evaluated.
  bool try_move(std::int64_t tolerance_ps) {
    const ChainLink link = chain_[index(draw(chain_.size()))];
    const bool moves_first = draw(2) == 0;
    const int node = moves_first ? link.before : link.node;
    const int other = moves_first ? link.node : link.before;
    int target = placement_[index(other)];
    if (target == placement_[index(node)]) {
      target = (target + 1 + draw(index(links_.num_devices - 1))) % links_.num_devices;
    }
    choose_moved(node);
    undo_.clear();
    for (const int each : moved_) {
      if (placement_[index(each)] == target) continue;
      undo_.emplace_back(each, placement_[index(each)]);
      placement_[index(each)] = target;
    }
    if (undo_.empty()) return false;
    const std::int64_t makespan = evaluator_.run(placement_).makespan_ps;
    if (makespan > makespan_ps_ + tolerance_ps || !keeps_memory()) {
      for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
        placement_[index(change->first)] = change->second;
      }
      return true;
    }
    makespan_ps_ = makespan;
    trace_chain();
    if (makespan < best_ps_) {
      best_ps_ = makespan;
      best_ = placement_;
    }
    return true;
  }

  bool keeps_memory() const {
    if (!links_.has_memory_limit()) return true;
    const auto peaks = peak_bytes(graph_, links_, placement_, evaluator_.memory_spans(placement_));
    return links_.fits(peaks);
  }

  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  const LinearClusters& clusters_;
  Evaluator evaluator_;
  std::mt19937_64 random_;
  Placement placement_, best_;
  std::vector<std::size_t> position_;  // [num_nodes] within the cluster
  std::vector<ChainLink> chain_;
  std::vector<int> moved_;
  std::vector<std::pair<int, int>> undo_;
  std::int64_t makespan_ps_ = 0, best_ps_ = 0;
};

}  // namespace

Placement improve_placement(const OperatorGraph& graph, const DeviceLinks& links,
                            const LinearClusters& clusters, const Placement& start,
                            const ImproveOptions& options) {
  if (links.num_devices < 2) return start;
  return PlacementSearch(graph, links, clusters, start, options.seed).run(options.steps);
}

}  // namespace tandem::planner
