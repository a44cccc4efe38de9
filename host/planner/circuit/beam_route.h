// SPDX-License-Identifier: Apache-2.0
//
// beam_route: searches for few swaps that let a circuit run on a coupling map.
//
// All states of a round have the same number of swaps. Each state tries every swap of a waiting
// qubit with a neighbour, and runs what can run then. The states that rate best go on: a gate that
// has run counts one, and the distances of the next 30 gates count against, each less than the one
// before it. The first state without a gate left is the result. Threads: pure; the same arguments
// give the same plan. Cost: O(swaps * width * links of waiting qubits). Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/circuit/coupling_map.h"
#include "planner/circuit/gate_wires.h"
#include "planner/circuit/swap_plan.h"

namespace tandem::planner {

struct BeamLimits {
  int width = 100;              // states that go on
  std::int64_t most_swaps = 0;  // beyond these the search ends
};

// Begins from all of `starts` at once. The plan has an empty layout if the limits were too tight.
SwapPlan beam_route(const GateWires& gates, const CouplingMap& map,
                    const std::vector<QubitLayout>& starts, const BeamLimits& limits);

}  // namespace tandem::planner
