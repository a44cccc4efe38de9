// SPDX-License-Identifier: Apache-2.0
//
// Reads, routes, writes.
#include "apps/planner/map_circuit.h"

#include <algorithm>

#include "apps/planner/planner_files.h"
#include "common/error.h"
#include "planner/circuit/qasm_file.h"
#include "planner/circuit/sabre_router.h"

namespace tandem::apps {
namespace {

std::int64_t num_joined(const planner::Circuit& circuit) {
  return std::ranges::count_if(circuit.operations, &planner::Operation::joins_two);
}

}  // namespace

nlohmann::json map_circuit_json(const MapCircuitOptions& options) {
  const planner::Circuit circuit = read_named("map", options.qasm, planner::read_qasm);
  const planner::CouplingMap map = read_named("map", options.coupling, planner::read_coupling_map);
  planner::RouteOptions route;
  route.num_trials = options.trials;
  route.num_threads = options.threads;
  route.seed = options.seed;
  planner::RoutedCircuit routed = planner::route_circuit(circuit, map, route);
  constexpr int kGatesPerSwap = 3;
  const auto num_used = static_cast<std::ptrdiff_t>(circuit.num_qubits);
  const auto used = [&](const planner::QubitLayout& layout) {
    return std::vector<int>(layout.begin(), layout.begin() + num_used);
  };
  nlohmann::json object{{"swaps", routed.num_swaps},
                        {"depth", routed.depth},
                        {"depth_with_swaps_of_three", depth_of(routed.circuit, kGatesPerSwap)},
                        {"depth_before", depth_of(circuit)},
                        {"two_qubit_gates", num_joined(routed.circuit)},
                        {"two_qubit_gates_before", num_joined(circuit)},
                        {"num_qubits", circuit.num_qubits},
                        {"num_places", map.num_qubits()},
                        {"initial_layout", used(routed.first_layout)},
                        {"final_layout", used(routed.last_layout)},
                        {"seed", options.seed}};
  if (!options.out.empty()) {
    write_whole("map", options.out, planner::qasm_text(routed.circuit));
    object["out"] = options.out;
  }
  return object;
}

}  // namespace tandem::apps
