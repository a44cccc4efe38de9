// SPDX-License-Identifier: Apache-2.0
//
// Trials by the router, one after the other pass; then chains of beam searches from the best
// layouts. Trials and chains share nothing.
#include "planner/circuit/sabre_router.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "common/error.h"
#include "planner/circuit/beam_route.h"
#include "planner/circuit/routing_pass.h"

namespace tandem::planner {
namespace {

constexpr int kPassPairs = 2;                 // back and forth before the pass that counts
constexpr std::int64_t kTrialWork = 600'000;  // operations of all trials
constexpr std::int64_t kLeastTrials = 4, kMostTrials = 200;

constexpr std::size_t kBeamChains = 4, kStartsOfChain = 16;
constexpr int kBeamPasses = 4;  // forth, back, forth, back
// States of one pass of a machine of kQubitsOfUnit; the trials' swaps are an upper bound of its
// rounds.
constexpr std::int64_t kBeamWork = 150'000, kLeastWidth = 4, kMostWidth = 400;
constexpr int kQubitsOfUnit = 20;

int num_trials_for(const Circuit& circuit) {
  const auto size = std::max<std::int64_t>(1, static_cast<std::int64_t>(circuit.operations.size()));
  return static_cast<int>(std::clamp(kTrialWork / size, kLeastTrials, kMostTrials));
}

struct RouteTrial {
  QubitLayout first_layout;
  std::uint64_t seed = 0;
  std::int64_t num_swaps = 0;
};

// Layouts that trials begin with.
std::vector<RouteTrial> starts_of(const Circuit& circuit, const CouplingMap& map,
                                  const RouteOptions& options) {
  const int count = options.num_trials > 0 ? options.num_trials : num_trials_for(circuit);
  std::mt19937_64 random(options.seed);
  std::vector<RouteTrial> trials(static_cast<std::size_t>(count));
  QubitLayout layout(static_cast<std::size_t>(map.num_qubits()));
  std::iota(layout.begin(), layout.end(), 0);
  for (int number = 0; number < count; ++number) {
    RouteTrial& trial = trials[static_cast<std::size_t>(number)];
    trial.seed = random();
    if (number == 0) {
      trial.first_layout = level_layout(circuit, map, options.seed);
      continue;
    }
    if (number > 1) std::shuffle(layout.begin(), layout.end(), random);
    trial.first_layout = layout;
  }
  return trials;
}

void run_trial(const GateOrder& forth, const GateOrder& back, const CouplingMap& map,
               RouteTrial& trial) {
  std::mt19937_64 random(trial.seed);
  std::optional<RouteTrial> best;
  for (int pair = 0; pair <= kPassPairs; ++pair) {
    const std::uint64_t seed = random();
    const PassResult there = routing_pass(forth, map, trial.first_layout, seed, nullptr);
    if (!best || there.num_swaps < best->num_swaps) {
      best = RouteTrial{trial.first_layout, seed, there.num_swaps};
    }
    if (pair < kPassPairs) {
      trial.first_layout =
          routing_pass(back, map, there.last_layout, random(), nullptr).last_layout;
    }
  }
  trial = *best;
}

// Calls work(0) to work(count - 1).
void run_all(std::size_t count, int num_threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t number = next++; number < count; number = next++) work(number);
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < num_threads; ++i) threads.emplace_back(take);
  take();
}

// Two-qubit gates of the circuit in both directions.
struct BothWays {
  GateWires forth, back;
};

// From the best layouts on, there and back again. Returns the best plan; its layout is empty if no
// search found one.
SwapPlan run_chain(const BothWays& gates, const CouplingMap& map, std::vector<QubitLayout> starts,
                   BeamLimits limits) {
  SwapPlan best;
  for (int pass = 0; pass < kBeamPasses; ++pass) {
    const bool is_back = pass % 2 == 1;
    SwapPlan plan = beam_route(is_back ? gates.back : gates.forth, map, starts, limits);
    if (plan.first_layout.empty()) break;
    starts.assign(1, last_layout_of(plan));
    if (is_back) plan = reversed(std::move(plan));
    if (best.first_layout.empty() || plan.swaps.size() < best.swaps.size()) best = std::move(plan);
  }
  return best;
}

// States of a round, so that all chains together do about kBeamWork; 0: not even a few.
int beam_width(const CouplingMap& map, std::int64_t num_swaps) {
  const std::int64_t cost_of_state = std::max(1, map.num_qubits() / kQubitsOfUnit);
  const std::int64_t width = kBeamWork / std::max<std::int64_t>(1, num_swaps) / cost_of_state;
  return width < kLeastWidth ? 0 : static_cast<int>(std::min(width, kMostWidth));
}

// Plans of the chains; trials are sorted, the best first.
std::vector<SwapPlan> beam_plans(const Circuit& circuit, const CouplingMap& map,
                                 const std::vector<RouteTrial>& trials, int num_threads) {
  const BeamLimits limits{beam_width(map, trials.front().num_swaps), trials.front().num_swaps};
  if (limits.width == 0 || limits.most_swaps == 0) return {};
  const BothWays gates{GateWires(circuit, false), GateWires(circuit, true)};
  std::vector<SwapPlan> plans(kBeamChains);
  run_all(plans.size(), num_threads, [&](std::size_t number) {
    std::vector<QubitLayout> starts;
    for (std::size_t i = number; i < trials.size() && starts.size() < kStartsOfChain;
         i += kBeamChains) {
      starts.push_back(trials[i].first_layout);
    }
    if (!starts.empty()) plans[number] = run_chain(gates, map, std::move(starts), limits);
  });
  std::erase_if(plans, [](const SwapPlan& plan) { return plan.first_layout.empty(); });
  return plans;
}

RoutedCircuit circuit_of_plan(const GateOrder& order, const CouplingMap& map,
                              const SwapPlan& plan) {
  RoutedCircuit routed;
  routed.circuit = planned_circuit(order, map, plan);
  routed.first_layout = plan.first_layout;
  routed.last_layout = last_layout_of(plan);
  routed.num_swaps = static_cast<std::int64_t>(plan.swaps.size());
  routed.depth = depth_of(routed.circuit);
  return routed;
}

RoutedCircuit circuit_of_trial(const GateOrder& order, const CouplingMap& map,
                               const RouteTrial& trial) {
  RoutedCircuit routed;
  routed.first_layout = trial.first_layout;
  const PassResult pass = routing_pass(order, map, trial.first_layout, trial.seed, &routed.circuit);
  routed.last_layout = pass.last_layout;
  routed.num_swaps = pass.num_swaps;
  routed.depth = depth_of(routed.circuit);
  return routed;
}

}  // namespace

RoutedCircuit route_circuit(const Circuit& circuit, const CouplingMap& map,
                            const RouteOptions& options) {
  if (circuit.num_qubits > map.num_qubits()) {
    throw Error("map", "the circuit has " + std::to_string(circuit.num_qubits) +
                           " qubits and the coupling map " + std::to_string(map.num_qubits()));
  }
  const GateOrder forth(circuit, false), back(circuit, true);
  std::vector<RouteTrial> trials = starts_of(circuit, map, options);
  run_all(trials.size(), options.num_threads,
          [&](std::size_t number) { run_trial(forth, back, map, trials[number]); });
  std::ranges::stable_sort(trials, {}, &RouteTrial::num_swaps);
  RoutedCircuit best;
  const auto take = [&](RoutedCircuit routed) {
    if (best.circuit.num_qubits == 0 ||
        std::pair(routed.num_swaps, routed.depth) < std::pair(best.num_swaps, best.depth)) {
      best = std::move(routed);
    }
  };
  for (const SwapPlan& plan : beam_plans(circuit, map, trials, options.num_threads)) {
    take(circuit_of_plan(forth, map, plan));
  }
  for (const RouteTrial& trial : trials) {
    const bool is_best_known = best.circuit.num_qubits == 0 || trial.num_swaps <= best.num_swaps;
    if (trial.num_swaps > trials.front().num_swaps || !is_best_known) break;
    take(circuit_of_trial(forth, map, trial));
  }
  return best;
}

}  // namespace tandem::planner
