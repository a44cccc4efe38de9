// SPDX-License-Identifier: Apache-2.0
//
// Maps and circuits for tests of routers, and the fewest swaps by a search over everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/circuit/circuit.h"
#include "planner/circuit/coupling_map.h"

namespace tandem::planner {

inline CouplingMap grid_of(int width, int height) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < width * height; ++i) {
    if (i % width + 1 < width) pairs.emplace_back(i, i + 1);
    if (i + width < width * height) pairs.emplace_back(i, i + width);
  }
  return {width * height, pairs};
}

inline Operation gate_of(const std::string& name, std::vector<double> parameters,
                         std::vector<int> qubits) {
  Operation gate;
  gate.name = name;
  gate.parameters = std::move(parameters);
  gate.qubits = std::move(qubits);
  return gate;
}

// Every qubit begins in a state of its own.
inline Circuit random_circuit(int num_qubits, int num_gates, std::mt19937_64& random) {
  const auto angle = [&] { return std::uniform_real_distribution<double>(-3, 3)(random); };
  Circuit circuit;
  circuit.num_qubits = num_qubits;
  for (int qubit = 0; qubit < num_qubits; ++qubit) {
    circuit.operations.push_back(gate_of("u3", {angle(), angle(), angle()}, {qubit}));
  }
  for (int i = 0; i < num_gates; ++i) {
    const int one = static_cast<int>(random() % static_cast<std::uint64_t>(num_qubits));
    const int other = static_cast<int>(random() % static_cast<std::uint64_t>(num_qubits));
    if (one == other) {
      circuit.operations.push_back(gate_of("ry", {angle()}, {one}));
    } else if (i % 4 == 0) {
      circuit.operations.push_back(gate_of("crx", {angle()}, {one, other}));
    } else if (i % 11 == 0) {
      circuit.operations.push_back(gate_of("swap", {}, {one, other}));
    } else {
      circuit.operations.push_back(gate_of("cx", {}, {one, other}));
    }
  }
  return circuit;
}

// The fewest swaps, breadth first over layouts and the gates that have run.
inline std::int64_t fewest_swaps(const Circuit& circuit, const CouplingMap& map) {
  using State = std::pair<std::vector<int>, std::vector<bool>>;
  const auto advance = [&](State& state) {
    std::vector<bool> is_blocked(static_cast<std::size_t>(circuit.num_qubits));
    for (std::size_t id = 0; id < circuit.operations.size(); ++id) {
      if (state.second[id]) continue;
      const auto& qubits = circuit.operations[id].qubits;
      const auto one = static_cast<std::size_t>(qubits.front()),
                 other = static_cast<std::size_t>(qubits.back());
      const bool runs = !is_blocked[one] && !is_blocked[other] &&
                        (one == other || map.distance(state.first[one], state.first[other]) == 1);
      state.second[id] = runs;
      if (!runs) is_blocked[one] = is_blocked[other] = true;
    }
  };
  std::vector<int> layout(static_cast<std::size_t>(map.num_qubits()));
  std::iota(layout.begin(), layout.end(), 0);
  std::set<State> seen, now;
  do {
    State state{layout, std::vector<bool>(circuit.operations.size())};
    advance(state);
    now.insert(state);
  } while (std::ranges::next_permutation(layout).found);
  for (std::int64_t swaps = 0;; ++swaps) {
    std::set<State> next;
    for (const State& state : now) {
      if (std::ranges::find(state.second, false) == state.second.end()) return swaps;
      for (std::size_t one = 0; one < layout.size(); ++one) {
        for (std::size_t other = one + 1; other < layout.size(); ++other) {
          if (map.distance(state.first[one], state.first[other]) > 1) continue;
          State moved = state;
          std::swap(moved.first[one], moved.first[other]);
          advance(moved);
          if (seen.insert(moved).second) next.insert(std::move(moved));
        }
      }
    }
    now = std::move(next);
  }
}

}  // namespace tandem::planner
