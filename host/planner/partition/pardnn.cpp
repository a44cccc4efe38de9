// SPDX-License-Identifier: Apache-2.0
//
// One object per call keeps the work of every device by level.
#include "planner/partition/pardnn.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "planner/graph/schedule.h"
#include "planner/partition/device_speed.h"
#include "planner/partition/level_work.h"

namespace tandem::planner {
namespace {

constexpr int kUnmapped = -1;
constexpr int kMostRounds = 20;  // of mapping and of refinement; later rounds change almost nothing

std::size_t slot(int id) { return static_cast<std::size_t>(id); }

struct ClusterSpan {
  std::int64_t begin_ps = 0, end_ps = 0, work_ps = 0;
  std::size_t first = 0, last = 0;  // ranks of the times begin_ps .. end_ps
};

class ParDnn {
 public:
  ParDnn(const OperatorGraph& graph, const DeviceLinks& links, const LinearClusters& clusters)
      : graph_(graph),
        links_(links),
        clusters_(clusters),
        placement_(slot(graph.num_nodes()), kUnmapped),
        exchange_(slot(links.num_devices)),
        loads_(slot(links.num_devices)),
        evaluator_(graph, links) {
    rank_times();
    for (const auto& path : clusters.paths) spans_.push_back(span_of(path));
    // The longest way to the fastest device.
    const std::vector<int> fastest = fastest_devices(graph, links);
    for (int path = 0; path < links.num_devices; ++path) map_to(path, fastest[slot(path)]);
    sort_by_weight();
  }

  Placement run() {
    for (const bool has_levels : {true, false}) map_clusters(has_levels);
    map_leftovers();
    refine(&ParDnn::switch_paths);
    refine(&ParDnn::switch_nodes);
    return std::move(placement_);
  }

 private:
  void rank_times() {
    const std::vector<std::int64_t>& top = clusters_.levels.top_ps;
    times_ = top;
    std::ranges::sort(times_);
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    work_ = LevelWork(times_.size(), links_.num_devices);
    all_before_.resize(times_.size() + 1);
    for (int node = 0; node < graph_.num_nodes(); ++node) {
      rank_of_.push_back(rank(top[slot(node)]));
      all_before_[rank_of_.back() + 1] += graph_.node(node).time_ps;
    }
    std::partial_sum(all_before_.begin(), all_before_.end(), all_before_.begin());
  }

  std::size_t rank(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(times_, time) - times_.begin());
  }

  void set_ranks(ClusterSpan& span) const {
    span.first = rank(span.begin_ps);
    span.last =
        static_cast<std::size_t>(std::ranges::upper_bound(times_, span.end_ps) - times_.begin());
  }

  ClusterSpan span_of(const std::vector<int>& path) const {
    ClusterSpan span;
    span.end_ps = times_.back();
    if (path.empty()) {
      set_ranks(span);
      return span;
    }
    const std::vector<std::int64_t>& top = clusters_.levels.top_ps;
    span.begin_ps = top[slot(path.front())];
    for (const int id : graph_.out(path.back())) {
      span.end_ps = std::min(span.end_ps, top[slot(graph_.edge(id).to)]);
    }
    for (const int node : path) span.work_ps += graph_.node(node).time_ps;
    set_ranks(span);
    return span;
  }

  void map_to(int cluster, int device) {
    for (const int node : clusters_.paths[slot(cluster)]) {
      const int before = placement_[slot(node)];
      const std::size_t level = rank_of_[slot(node)];
      if (before != kUnmapped) work_.add(level, before, -links_.time_ps(graph_, node, before));
      work_.add(level, device, links_.time_ps(graph_, node, device));
      placement_[slot(node)] = device;
    }
  }

  // The exchange of a cluster's nodes with each device, into exchange_; edges inside do not count.
  void sum_exchange(std::span<const int> nodes, int cluster) {
    std::ranges::fill(exchange_, 0);
    const auto add = [&](int edge, int other) {
      if (cluster != kNoCluster && clusters_.cluster_of[slot(other)] == cluster) return;
      const int device = placement_[slot(other)];
      if (device != kUnmapped) exchange_[slot(device)] += links_.edge_ps(graph_.edge_bytes(edge));
    };
    for (const int node : nodes) {
      for (const int id : graph_.in(node)) add(id, graph_.edge(id).from);
      for (const int id : graph_.out(node)) add(id, graph_.edge(id).to);
    }
  }

  bool is_merged(const ClusterSpan& span, int device) {
    const std::int64_t exchange = exchange_[slot(device)];
    const std::int64_t elsewhere =
        std::accumulate(exchange_.begin(), exchange_.end(), std::int64_t{0}) - exchange;
    if (exchange < elsewhere || exchange <= links_.latency_ps) return false;
    std::int64_t least = kMostGraphPs, most = 0, mapped = 0;
    work_.between(span.first, span.last, loads_);
    for (std::int64_t& here : loads_) {
      here = std::max<std::int64_t>(0, here);
      least = std::min(least, here);
      most = std::max(most, here);
      mapped += here;
    }
    const std::int64_t own = loads_[slot(device)];
    const std::int64_t together = own + span.work_ps;
    const std::int64_t all =
        span.first < span.last ? all_before_[span.last] - all_before_[span.first] : 0;
    if (together <= all / links_.num_devices) return true;
    // Work of the span that has no device yet can still fill the others; work elsewhere cannot.
    const std::int64_t room =
        least + span.work_ps + exchange + links_.latency_ps + (all - mapped) / links_.num_devices;
    return together <= std::max(most, room) || own <= exchange || exchange >= most - least;
  }

  // Secondary clusters that have no device, the longest ways first.
  std::vector<int> unmapped_clusters() const {
    std::vector<int> ids;
    for (const int id : by_weight_) {
      if (placement_[slot(clusters_.paths[slot(id)].front())] == kUnmapped) ids.push_back(id);
    }
    return ids;
  }

  void sort_by_weight() {
    for (int id = links_.num_devices; id < static_cast<int>(clusters_.paths.size()); ++id) {
      by_weight_.push_back(id);
    }
    std::ranges::stable_sort(by_weight_, std::greater<>(), [&](int id) {
      return clusters_.levels.weight_ps(clusters_.paths[slot(id)].front());
    });
  }

  void map_clusters(bool has_levels) {
    constexpr int kFirstPercent = 50, kPercentStep = 10;
    for (int percent = kFirstPercent; percent <= 100; percent += kPercentStep) {
      // Rounds that merge less than a hundredth gain less than they take.
      bool goes_on = true;
      for (int round = 0; round < kMostRounds && goes_on; ++round) {
        std::vector<int> ids = unmapped_clusters();
        ids.resize((ids.size() * slot(percent) + 99) / 100);
        std::ranges::stable_sort(
            ids, {}, [&](int id) { return spans_[slot(id)].end_ps - spans_[slot(id)].begin_ps; });
        std::size_t num_merged = 0;
        for (const int id : ids) num_merged += merge(id, has_levels) ? 1 : 0;
        goes_on = num_merged > ids.size() / 100;
      }
    }
  }

  bool merge(int cluster, bool has_levels) {
    sum_exchange(clusters_.paths[slot(cluster)], cluster);
    const int device = static_cast<int>(std::ranges::max_element(exchange_) - exchange_.begin());
    ClusterSpan span = spans_[slot(cluster)];
    if (!has_levels) {
      span.begin_ps = times_.front();
      span.end_ps = times_.back();
      set_ranks(span);
    }
    if (!is_merged(span, device)) return false;
    map_to(cluster, device);
    return true;
  }

  void map_leftovers() {
    for (const int id : unmapped_clusters()) {
      sum_exchange(clusters_.paths[slot(id)], id);
      const ClusterSpan& span = spans_[slot(id)];
      int best = 0;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      work_.between(span.first, span.last, loads_);
      for (int device = 0; device < links_.num_devices; ++device) {
        const std::int64_t load =
            std::max<std::int64_t>(0, loads_[slot(device)]) - exchange_[slot(device)];
        if (load < least) {
          least = load;
          best = device;
        }
      }
      map_to(id, best);
    }
  }

  // Rounds of switching for as long as they shorten the emulated schedule.
  void refine(bool (ParDnn::*switch_round)()) {
    std::int64_t makespan = evaluator_.run(placement_).makespan_ps;
    for (int round = 0; round < kMostRounds; ++round) {
      const Placement before = placement_;
      placed_ = levels_of(graph_, links_, placement_);
      longest_ps_ = std::ranges::max(placed_.bottom_ps);
      const bool has_switched = (this->*switch_round)();
      const std::int64_t now = evaluator_.run(placement_).makespan_ps;
      if (!has_switched || now >= makespan) {
        if (now > makespan) placement_ = before;
        return;
      }
      makespan = now;
    }
  }

  // Whether the path through a node is among the longest; elsewhere exchange overlaps with work.
  bool is_critical(int node) const {
    constexpr std::int64_t kOfLongest = 100;
    return placed_.weight_ps(node) >= longest_ps_ - longest_ps_ / kOfLongest;
  }

  bool switch_paths() {
    bool has_switched = false;
    for (int id = 0; id < static_cast<int>(clusters_.paths.size()); ++id) {
      const std::vector<int>& path = clusters_.paths[slot(id)];
      if (path.empty() || std::ranges::none_of(path, [&](int node) { return is_critical(node); })) {
        continue;
      }
      const int here = placement_[slot(path.front())];
      sum_exchange(path, id);
      int other = kUnmapped, num_others = 0;
      for (int device = 0; device < links_.num_devices; ++device) {
        if (exchange_[slot(device)] == 0) continue;
        other = device;
        ++num_others;
      }
      if (num_others != 1 || other == here) continue;
      if (spans_[slot(id)].work_ps > exchange_[slot(other)] && id < links_.num_devices) continue;
      map_to(id, other);
      has_switched = true;
    }
    return has_switched;
  }

  bool switch_nodes() {
    bool has_switched = false;
    for (const int node : graph_.order()) {
      if (!is_critical(node)) continue;
      sum_exchange({&node, 1}, kNoCluster);
      const int here = placement_[slot(node)];
      const int best = static_cast<int>(std::ranges::max_element(exchange_) - exchange_.begin());
      const std::int64_t gain =
          exchange_[slot(best)] - exchange_[slot(here)] - links_.time_ps(graph_, node, best);
      if (best == here || gain <= 0) continue;
      placement_[slot(node)] = best;
      has_switched = true;
    }
    return has_switched;
  }

  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  const LinearClusters& clusters_;
  Placement placement_;
  std::vector<std::int64_t> times_;       // of top levels, ascending, each once
  std::vector<std::size_t> rank_of_;      // [num_nodes] of its top level among them
  std::vector<std::int64_t> all_before_;  // [times + 1] work of all nodes with a lower rank
  LevelWork work_{0, 1};
  std::vector<std::int64_t> exchange_, loads_;  // [num_devices]
  std::vector<ClusterSpan> spans_;
  std::vector<int> by_weight_;  // secondary clusters, the longest ways first
  Evaluator evaluator_;
  Levels placed_;  // of the placement at the begin of a round of refinement
  std::int64_t longest_ps_ = 0;
};

}  // namespace

Placement place_by_pardnn(const OperatorGraph& graph, const DeviceLinks& links,
                          const LinearClusters& clusters) {
  return ParDnn(graph, links, clusters).run();
}

}  // namespace tandem::planner
