// SPDX-License-Identifier: Apache-2.0
//
// Flows of all sub-problems, then one search.
#include "planner/circuit/initial_layout.h"

#include <algorithm>
#include <numeric>

#include "planner/mapping/permutation_search.h"

namespace tandem::planner {
namespace {

constexpr int kSubProblems = 12;
constexpr std::int64_t kSearchWork = 2'000'000;  // pairs of exchanged places that are looked at
constexpr int kMostSearched = 512;               // qubits; larger maps keep their order

// The number of levels in a sub-problem: enough for every qubit to have a gate with another one.
int levels_per_problem(int num_qubits) { return std::max(2, num_qubits / 4); }

}  // namespace

QubitLayout level_layout(const Circuit& circuit, const CouplingMap& map, std::uint64_t seed) {
  const auto n = static_cast<std::size_t>(map.num_qubits());
  QubitLayout layout(n);
  std::iota(layout.begin(), layout.end(), 0);
  if (map.num_qubits() > kMostSearched) return layout;
  QuadraticAssignment problem;
  problem.num_tasks = map.num_qubits();
  problem.flow.assign(n * n, 0);
  problem.distance.assign(n * n, 0);
  for (std::size_t i = 0; i < n * n; ++i) {
    problem.distance[i] = map.distance(static_cast<int>(i / n), static_cast<int>(i % n));
  }
  const int length = levels_per_problem(circuit.num_qubits);
  std::vector<int> levels(static_cast<std::size_t>(circuit.num_qubits));
  for (const Operation& operation : circuit.operations) {
    if (!operation.joins_two()) continue;
    const auto one = static_cast<std::size_t>(operation.qubits[0]),
               other = static_cast<std::size_t>(operation.qubits[1]);
    const int level = std::max(levels[one], levels[other]);
    levels[one] = levels[other] = level + 1;
    if (level / length >= kSubProblems) continue;
    const std::int64_t weight = std::int64_t{1} << (kSubProblems - 1 - level / length);
    problem.flow[one * n + other] += weight;
    problem.flow[other * n + one] += weight;
  }
  SearchOptions options;
  options.seed = seed;
  options.most_steps = std::max<std::int64_t>(16, kSearchWork / static_cast<std::int64_t>(n * n));
  return search_permutation(problem, options).places;
}

}  // namespace tandem::planner
