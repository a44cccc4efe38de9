// SPDX-License-Identifier: Apache-2.0
//
// route_circuit: a circuit on a coupling map, with swaps where qubits that meet are apart.
//
// SABRE: gates that can run do; where none can, the swap that brings the front of the circuit
// nearer is made, with half of the weight on the 20 gates behind the front, and less for qubits
// that have just moved. After many swaps without a gate the nearest gate is brought together
// directly. A trial begins with a layout, routes forth and back to improve it, then routes for
// good; the trial with the fewest swaps wins, then the least depth. Trials: the layout by levels,
// the qubits in their order, then random ones. Threads: as many as asked for; the same seed gives
// the same result for any number. Errors: Error where the circuit has more qubits than the map.
// Source: Li, Ding and Xie, arXiv 1809.02573.
#pragma once

#include "planner/circuit/initial_layout.h"

namespace tandem::planner {

struct RouteOptions {
  int num_trials = 0;  // 0: by the size of the circuit
  int num_threads = 1;
  std::uint64_t seed = 1;
};

struct RoutedCircuit {
  Circuit circuit;  // on the qubits of the map; inserted gates are called swap
  QubitLayout first_layout, last_layout;
  std::int64_t num_swaps = 0;  // inserted
  std::int64_t depth = 0;
};

RoutedCircuit route_circuit(const Circuit& circuit, const CouplingMap& map,
                            const RouteOptions& options);

}  // namespace tandem::planner
