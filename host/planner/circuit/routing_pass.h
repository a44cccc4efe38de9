// SPDX-License-Identifier: Apache-2.0
//
// routing_pass: runs one pass of the SABRE router over a circuit, from a given layout.
//
// Threads: pure; the same seed gives the same pass. Cost: about O(operations * links of the qubits
// whose gates are ready).
#pragma once

#include "planner/circuit/coupling_map.h"
#include "planner/circuit/gate_order.h"
#include "planner/circuit/initial_layout.h"

namespace tandem::planner {

struct PassResult {
  QubitLayout last_layout;
  std::int64_t num_swaps = 0;
};

// `out` receives the circuit on the map's qubits; nullptr: only the result is needed.
PassResult routing_pass(const GateOrder& order, const CouplingMap& map, const QubitLayout& layout,
                        std::uint64_t seed, Circuit* out);

}  // namespace tandem::planner
