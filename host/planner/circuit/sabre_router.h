// SPDX-License-Identifier: Apache-2.0
//
// route_circuit: maps a circuit to a coupling map, and inserts swaps between distant qubits.
//
// First trials by the SABRE method. Gates that can run are emitted. If none can, the router inserts
// the swap that brings the qubits of the waiting gates closest together. The next 20 gates count
// half; qubits that moved recently count less. A trial routes forward and backward to improve its
// layout, and then once more. From the layouts of the best trials, beam_route() searches forward
// and backward, unless map and swaps are too many for even a narrow beam. The fewest swaps win,
// then the least depth. Threads: RouteOptions::num_threads; the result does not depend on it.
// Errors: Error if the circuit has more qubits than the map. Source: Li, Ding and Xie, arXiv
// 1809.02573.
#pragma once

#include "planner/circuit/initial_layout.h"

namespace tandem::planner {

struct RouteOptions {
  int num_trials = 0;  // 0: chosen by the size of the circuit
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
