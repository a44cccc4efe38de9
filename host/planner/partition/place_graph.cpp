// SPDX-License-Identifier: Apache-2.0
//
// The methods are evaluated one after the other; the best result is kept.
#include "planner/partition/place_graph.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "planner/graph/schedule.h"
#include "planner/partition/chain_placement.h"
#include "planner/partition/device_speed.h"
#include "planner/partition/favourite_children.h"
#include "planner/partition/list_placement.h"
#include "planner/partition/local_search.h"
#include "planner/partition/memory_repair.h"
#include "planner/partition/metis_placement.h"
#include "planner/partition/pardnn.h"
#include "planner/partition/placement_rules.h"
#include "planner/partition/scotch_placement.h"

namespace tandem::planner {
namespace {

// Nodes and edges that the search may evaluate, over all its steps: some seconds.
constexpr std::int64_t kSearchedNodes = 40'000'000;
constexpr std::int64_t kMostSearchSteps = 10'000;
// Fewer steps find nothing: graphs of more than some 130,000 nodes are not searched.
constexpr std::int64_t kFewestSearchSteps = 100;
// With so many edges at most, the portfolio solves the linear programme of m-SCT, in about a
// second.
constexpr int kMostProgrammeEdges = 2'000;
// If there are at most this many placements, all are tried.
constexpr std::int64_t kMostTried = 20'000;

// Whether no more than kMostTried placements keep groups and fixed nodes.
bool is_small(const OperatorGraph& graph, const DeviceLinks& links) {
  std::int64_t count = 1;
  for (int unit = 0; unit < graph.num_units() && count <= kMostTried; ++unit) {
    if (graph.device_of_unit(unit) == kAnyDevice) count *= links.num_devices;
  }
  return count <= kMostTried;
}

// The fastest of all placements that keep the memory limit; empty if there is none.
Placement place_by_trial(const OperatorGraph& graph, const DeviceLinks& links) {
  Evaluator evaluator(graph, links);
  std::vector<int> free_units;
  Placement placement(static_cast<std::size_t>(graph.num_nodes())), best;
  for (int unit = 0; unit < graph.num_units(); ++unit) {
    if (graph.device_of_unit(unit) == kAnyDevice) free_units.push_back(unit);
  }
  enforce_rules(graph, links, placement);
  std::int64_t least = 0;
  for (std::size_t at = 0;;) {
    const std::int64_t makespan = evaluator.run(placement).makespan_ps;
    if ((best.empty() || makespan < least) &&
        links.fits(peak_bytes(graph, links, placement, evaluator.memory_spans(placement)))) {
      best = placement;
      least = makespan;
    }
    for (at = 0; at < free_units.size(); ++at) {
      const auto nodes = graph.unit(free_units[at]);
      const int here = placement[static_cast<std::size_t>(nodes.front())];
      const int next = (here + 1) % links.num_devices;
      for (const int node : nodes) placement[static_cast<std::size_t>(node)] = next;
      if (next != 0) break;
    }
    if (at == free_units.size()) return best;
  }
}

class Portfolio {
 public:
  Portfolio(const OperatorGraph& graph, const DeviceLinks& links)
      : graph_(graph), links_(links), evaluator_(graph, links) {}

  void judge(const std::string& name, Placement placement) {
    enforce_rules(graph_, links_, placement);
    const bool fits =
        !links_.has_memory_limit() || repair_memory(graph_, links_, evaluator_, placement);
    const std::int64_t makespan = evaluator_.run(placement).makespan_ps;
    const auto peaks = peak_bytes(graph_, links_, placement, evaluator_.memory_spans(placement));
    if (!fits) {
      const std::int64_t most = std::ranges::max(peaks);
      least_peak_ = least_peak_ < 0 ? most : std::min(least_peak_, most);
      result_.members.emplace_back(name, std::nullopt);
      return;
    }
    result_.members.emplace_back(name, makespan);
    if (!result_.placement.empty() && makespan >= result_.makespan_ps) return;
    result_.makespan_ps = makespan;
    result_.placement = std::move(placement);
    result_.peak_bytes = peaks;
    result_.method = name;
  }

  const Placement& best() const { return result_.placement; }

  PlacedGraph finish() {
    if (result_.placement.empty()) {
      const std::string memory = links_.memories.empty()
                                     ? std::to_string(links_.memory_bytes) + " bytes per device"
                                     : "the memories of the devices";
      throw Error("place", "no placement was found that keeps within " + memory +
                               ": the best one needs " + std::to_string(least_peak_) +
                               "; give more memory, more devices or --method auto");
    }
    return std::move(result_);
  }

 private:
  const OperatorGraph& graph_;
  const DeviceLinks& links_;
  Evaluator evaluator_;
  PlacedGraph result_;
  std::int64_t least_peak_ = -1;
};

void judge_simple(const OperatorGraph& graph, const DeviceLinks& links, Portfolio& portfolio) {
  portfolio.judge("one", Placement(static_cast<std::size_t>(graph.num_nodes()),
                                   fastest_devices(graph, links).front()));
  portfolio.judge("order", place_in_order(graph, links));
  portfolio.judge("heft", place_by_rank(graph, links));
}

// m-SCT where it takes about a second. Without an optimum the other members decide.
void judge_favourites(const OperatorGraph& graph, const DeviceLinks& links, Portfolio& portfolio) {
  if (!has_linear_solver() || graph.num_edges() > kMostProgrammeEdges) return;
  Placement placement;
  try {
    placement = place_small_communication(graph, links);
  } catch (const Error&) {
    return;
  }
  portfolio.judge("msct", std::move(placement));
}

// ParDNN; then, where wanted, a search from the best placement so far.
void judge_clusters(const OperatorGraph& graph, const DeviceLinks& links, bool searches,
                    Portfolio& portfolio) {
  const LinearClusters clusters = slice_graph(graph, links);
  portfolio.judge("pardnn", place_by_pardnn(graph, links, clusters));
  if (!searches || portfolio.best().empty()) return;
  ImproveOptions options;
  options.steps =
      std::min(kMostSearchSteps, kSearchedNodes / (graph.num_nodes() + graph.num_edges()));
  if (options.steps < kFewestSearchSteps) return;
  const Placement best = portfolio.best();
  portfolio.judge("search", improve_placement(graph, links, clusters, best, options));
}

}  // namespace

PlacedGraph place_graph(const OperatorGraph& graph, const DeviceLinks& links, PlaceMethod method) {
  check_placeable(graph, links);
  Portfolio portfolio(graph, links);
  const bool is_auto = method == PlaceMethod::kAuto;
  if (is_auto) judge_simple(graph, links, portfolio);
  if (method == PlaceMethod::kChain && !is_chain(graph)) {
    throw Error("place",
                "the method chain is for chains: nodes with one producer and one consumer at most, "
                "and no groups; choose another method");
  }
  if (method == PlaceMethod::kChain || (is_auto && is_chain(graph))) {
    portfolio.judge("chain", place_chain(graph, links));
  }
  if (is_auto || method == PlaceMethod::kEarliest) {
    portfolio.judge("etf", place_earliest(graph, links));
  }
  if (method == PlaceMethod::kSmallComm) {
    portfolio.judge("msct", place_small_communication(graph, links));
  } else if (is_auto) {
    judge_favourites(graph, links, portfolio);
  }
  if (method == PlaceMethod::kMetis || (is_auto && has_metis())) {
    portfolio.judge("metis", place_by_metis(graph, links));
  }
  if (method == PlaceMethod::kScotch || (is_auto && has_scotch())) {
    portfolio.judge("scotch", place_by_scotch(graph, links));
  }
  if (is_auto || method == PlaceMethod::kParDnn) {
    judge_clusters(graph, links, is_auto, portfolio);
  }
  if (is_auto && is_small(graph, links)) {
    Placement best = place_by_trial(graph, links);
    if (!best.empty()) portfolio.judge("all", std::move(best));
  }
  return portfolio.finish();
}

PlaceMethod place_method_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, PlaceMethod>, 7> kNames = {
      {{"auto", PlaceMethod::kAuto},
       {"pardnn", PlaceMethod::kParDnn},
       {"metis", PlaceMethod::kMetis},
       {"scotch", PlaceMethod::kScotch},
       {"etf", PlaceMethod::kEarliest},
       {"msct", PlaceMethod::kSmallComm},
       {"chain", PlaceMethod::kChain}}};
  for (const auto& [known, method] : kNames) {
    if (name == known) return method;
  }
  throw Error("place", "no method is called '" + std::string(name) +
                           "': auto, pardnn, metis, scotch, etf, msct or chain");
}

}  // namespace tandem::planner
