// SPDX-License-Identifier: Apache-2.0
//
// One pass over the circuit per layout; trials share nothing.
#include "planner/circuit/sabre_router.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "common/error.h"
#include "planner/circuit/routing_pass.h"

namespace tandem::planner {
namespace {

constexpr int kPassPairs = 2;                 // back and forth before the pass that counts
constexpr std::int64_t kTrialWork = 600'000;  // operations of all trials
constexpr std::int64_t kLeastTrials = 4, kMostTrials = 200;

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

}  // namespace

RoutedCircuit route_circuit(const Circuit& circuit, const CouplingMap& map,
                            const RouteOptions& options) {
  if (circuit.num_qubits > map.num_qubits()) {
    throw Error("map", "the circuit has " + std::to_string(circuit.num_qubits) +
                           " qubits and the coupling map " + std::to_string(map.num_qubits()));
  }
  const GateOrder forth(circuit, false), back(circuit, true);
  std::vector<RouteTrial> trials = starts_of(circuit, map, options);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t number = next++; number < trials.size(); number = next++) {
      run_trial(forth, back, map, trials[number]);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < options.num_threads; ++i) threads.emplace_back(work);
    work();
  }
  const std::int64_t least =
      std::ranges::min_element(trials, {}, &RouteTrial::num_swaps)->num_swaps;
  RoutedCircuit best;
  for (const RouteTrial& trial : trials) {
    if (trial.num_swaps > least) continue;
    RoutedCircuit routed;
    routed.first_layout = trial.first_layout;
    const PassResult pass =
        routing_pass(forth, map, trial.first_layout, trial.seed, &routed.circuit);
    routed.last_layout = pass.last_layout;
    routed.num_swaps = pass.num_swaps;
    routed.depth = depth_of(routed.circuit);
    if (best.circuit.num_qubits == 0 || routed.depth < best.depth) best = std::move(routed);
  }
  return best;
}

}  // namespace tandem::planner
