// SPDX-License-Identifier: Apache-2.0
//
// The beam against the fewest swaps of all, and its plans played forward and backward.
#include "planner/circuit/beam_route.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

#include "host/planner/circuit/circuits.h"
#include "planner/circuit/qasm_file.h"
#include "planner/circuit/routing_pass.h"
#include "planner/circuit/sabre_router.h"

namespace tandem::planner {
namespace {

std::vector<QubitLayout> all_layouts(const CouplingMap& map) {
  QubitLayout layout(static_cast<std::size_t>(map.num_qubits()));
  std::iota(layout.begin(), layout.end(), 0);
  std::vector<QubitLayout> layouts;
  do {
    layouts.push_back(layout);
  } while (std::ranges::next_permutation(layout).found);
  return layouts;
}

std::int64_t num_swaps_in(const Circuit& circuit) {
  return std::ranges::count(circuit.operations, "swap", &Operation::name);
}

TEST(BeamRoute, AWideBeamFindsTheFewestSwapsInBothDirections) {
  std::mt19937_64 random(8);
  for (const CouplingMap& map : {grid_of(4, 1), grid_of(2, 2), grid_of(5, 1)}) {
    for (int i = 0; i < 3; ++i) {
      Circuit circuit = random_circuit(map.num_qubits(), 12, random);
      std::erase_if(circuit.operations, [](const Operation& each) { return each.name == "swap"; });
      const std::int64_t fewest = fewest_swaps(circuit, map);
      const GateOrder order(circuit, false);
      for (const bool is_back : {false, true}) {
        const GateWires gates(circuit, is_back);
        SwapPlan plan = beam_route(gates, map, all_layouts(map), {100'000, fewest});
        ASSERT_FALSE(plan.first_layout.empty());
        EXPECT_EQ(static_cast<std::int64_t>(plan.swaps.size()), fewest);
        if (is_back) plan = reversed(plan);
        const Circuit played = planned_circuit(order, map, plan);
        EXPECT_EQ(num_swaps_in(played), fewest);
        EXPECT_EQ(played.operations.size(),
                  circuit.operations.size() + static_cast<std::size_t>(fewest));
        if (fewest == 0) continue;
        EXPECT_TRUE(
            beam_route(gates, map, all_layouts(map), {100'000, fewest - 1}).first_layout.empty());
      }
    }
  }
}

TEST(BeamRoute, ReversingTwiceGivesThePlanBack) {
  const SwapPlan plan{{2, 0, 1}, {{0, 1}, {1, 2}}};
  const SwapPlan back = reversed(plan);
  EXPECT_EQ(back.first_layout, last_layout_of(plan));
  EXPECT_EQ(back.first_layout, (QubitLayout{1, 2, 0}));
  EXPECT_EQ(reversed(back).first_layout, plan.first_layout);
  EXPECT_EQ(reversed(back).swaps, plan.swaps);
}

TEST(BeamRoute, APlanThatLeavesGatesIsRefused) {
  Circuit circuit;
  circuit.num_qubits = 3;
  circuit.operations = {gate_of("cx", {}, {0, 2})};
  const GateOrder order(circuit, false);
  EXPECT_THROW(planned_circuit(order, grid_of(3, 1), {{0, 1, 2}, {}}), std::logic_error);
}

// Toffoli gates of three random qubits, as in arithmetic circuits.
Circuit toffoli_circuit(int num_qubits, int count, std::mt19937_64& random) {
  Circuit circuit;
  circuit.num_qubits = num_qubits;
  std::vector<int> qubits(static_cast<std::size_t>(num_qubits));
  std::iota(qubits.begin(), qubits.end(), 0);
  for (int i = 0; i < count; ++i) {
    std::ranges::shuffle(qubits, random);
    const int a = qubits[0], b = qubits[1], c = qubits[2];
    for (const auto& [one, other] :
         {std::pair(b, c), std::pair(a, c), std::pair(b, c), std::pair(a, c), std::pair(a, b)}) {
      circuit.operations.push_back(gate_of("cx", {}, {one, other}));
    }
  }
  return circuit;
}

TEST(BeamRoute, TheRouterHasAQuarterFewerSwapsThanItsTrials) {
  std::mt19937_64 random(6);
  const Circuit circuit = toffoli_circuit(12, 30, random);
  const CouplingMap map = grid_of(4, 3);
  const RoutedCircuit routed = route_circuit(circuit, map, {6, 1, 2});
  std::int64_t least = routed.num_swaps * 100;
  const GateOrder order(circuit, false);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    least = std::min(least, routing_pass(order, map, routed.first_layout, seed, nullptr).num_swaps);
  }
  EXPECT_LT(routed.num_swaps * 4, least * 3);
}

// A narrow beam is worse at once if it rates wrongly or keeps equal states.
TEST(BeamRoute, ANarrowBeamRatesWell) {
  std::mt19937_64 random(4);
  const CouplingMap map = grid_of(3, 3);
  QubitLayout layout(9);
  std::iota(layout.begin(), layout.end(), 0);
  std::size_t sum = 0;
  for (int i = 0; i < 10; ++i) {
    const GateWires gates(toffoli_circuit(9, 12, random), false);
    sum += beam_route(gates, map, {layout}, {12, 1000}).swaps.size();
  }
  EXPECT_LE(sum, 187);
}

// One of the best plans comes from a search backward.
TEST(BeamRoute, ThePlansOfBothDirectionsCanBePlayed) {
  std::mt19937_64 random(14);
  const CouplingMap map = grid_of(3, 2);
  for (int i = 0; i < 12; ++i) {
    const Circuit circuit = toffoli_circuit(6, 6, random);
    const RoutedCircuit routed = route_circuit(circuit, map, {2, 1, 2});
    EXPECT_EQ(num_swaps_in(routed.circuit), routed.num_swaps);
    EXPECT_EQ(routed.circuit.operations.size(),
              circuit.operations.size() + static_cast<std::size_t>(routed.num_swaps));
  }
}

// A measurement needs no link, but the gate after it waits for it, and so does its condition.
TEST(BeamRoute, BitsAndBarriersOrderGates) {
  std::istringstream in(
      "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[3]; creg c[1];\n"
      "measure q[0]->c[0]; if(c==1) cx q[1],q[2]; barrier q; cx q[0],q[1]; h q[2];");
  const Circuit circuit = read_qasm(in);
  const GateWires gates(circuit, false);
  ASSERT_EQ(gates.num_gates(), 4);
  EXPECT_FALSE(gates.gate(0).needs_link());
  EXPECT_EQ(gates.gate(1).level, 1);
  EXPECT_FALSE(gates.gate(2).needs_link());
  EXPECT_EQ(gates.gate(3).level, 3);
  EXPECT_EQ(gates.num_qubits(), 3);
  EXPECT_EQ(gates.num_wires(), 4);
  const SwapPlan plan = beam_route(gates, grid_of(3, 1), {{0, 2, 1}}, {10, 5});
  EXPECT_EQ(plan.swaps.size(), 1);
}

}  // namespace
}  // namespace tandem::planner
