// SPDX-License-Identifier: Apache-2.0
//
// SwapPlan: where the qubits of a circuit begin, and the swaps that let all of its gates run.
//
// Threads: pure functions. Errors: planned_circuit() throws std::logic_error if a gate of the
// circuit can never run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/circuit/coupling_map.h"
#include "planner/circuit/gate_order.h"
#include "planner/circuit/initial_layout.h"

namespace tandem::planner {

struct SwapPlan {
  QubitLayout first_layout;
  std::vector<std::pair<int, int>> swaps;  // of neighbouring places, one after the other
};

// The layout after all swaps.
QubitLayout last_layout_of(const SwapPlan& plan);

// The plan of the circuit that runs backward.
SwapPlan reversed(SwapPlan plan);

// The circuit on the map's qubits. Every operation runs as soon as it can.
Circuit planned_circuit(const GateOrder& order, const CouplingMap& map, const SwapPlan& plan);

}  // namespace tandem::planner
