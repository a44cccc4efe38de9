// SPDX-License-Identifier: Apache-2.0
//
// Routed circuits against their originals by simulation, and against the fewest swaps that a search
// over all layouts finds.
#include "planner/circuit/sabre_router.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "host/planner/circuit/circuits.h"
#include "host/planner/circuit/state_vector.h"
#include "host/planner/message_of.h"
#include "planner/circuit/qasm_file.h"

namespace tandem::planner {
namespace {

using testing::HasSubstr;

void expect_on_map(const RoutedCircuit& routed, const CouplingMap& map) {
  for (const Operation& each : routed.circuit.operations) {
    if (!each.joins_two()) continue;
    EXPECT_EQ(map.distance(each.qubits[0], each.qubits[1]), 1);
  }
}

void expect_same_state(const Circuit& circuit, const RoutedCircuit& routed) {
  const std::vector<Amplitude> before = state_of(circuit), after = state_of(routed.circuit);
  double worst = 0;
  for (std::size_t at = 0; at < before.size(); ++at) {
    std::size_t place = 0;
    for (int qubit = 0; qubit < circuit.num_qubits; ++qubit) {
      const int to = routed.last_layout[static_cast<std::size_t>(qubit)];
      place |= (at >> qubit & 1) << to;
    }
    worst = std::max(worst, std::abs(before[at] - after[place]));
  }
  EXPECT_LT(worst, 1e-9);
}

TEST(SabreRouter, RoutedCircuitsAreEqualBySimulation) {
  std::mt19937_64 random(5);
  const std::array<CouplingMap, 4> maps = {
      grid_of(7, 1), grid_of(3, 3), grid_of(5, 2),
      CouplingMap(6, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}})};
  for (const CouplingMap& map : maps) {
    for (const int fewer : {0, 2}) {
      const Circuit circuit = random_circuit(map.num_qubits() - fewer, 60, random);
      const RoutedCircuit routed = route_circuit(circuit, map, {3, 1, 7});
      expect_on_map(routed, map);
      expect_same_state(circuit, routed);
      EXPECT_EQ(routed.circuit.operations.size(),
                circuit.operations.size() + static_cast<std::size_t>(routed.num_swaps));
      EXPECT_EQ(routed.depth, depth_of(routed.circuit));
    }
  }
}

TEST(SabreRouter, SixteenQubitsAreEqualBySimulation) {
  std::mt19937_64 random(9);
  const CouplingMap map = grid_of(8, 2);
  const Circuit circuit = random_circuit(16, 120, random);
  const RoutedCircuit routed = route_circuit(circuit, map, {2, 2, 1});
  expect_on_map(routed, map);
  expect_same_state(circuit, routed);
}

TEST(SabreRouter, ALineWithOtherNamesNeedsNoSwap) {
  std::mt19937_64 random(3);
  std::vector<int> names(16);
  std::iota(names.begin(), names.end(), 0);
  std::ranges::shuffle(names, random);
  Circuit circuit;
  circuit.num_qubits = 16;
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i + 1 < 16; ++i) {
      circuit.operations.push_back(gate_of("cx", {}, {names[i], names[i + 1]}));
    }
  }
  EXPECT_EQ(route_circuit(circuit, grid_of(16, 1), {1, 1, 1}).num_swaps, 0);
}

TEST(SabreRouter, SmallCircuitsComeNearTheFewestSwaps) {
  std::mt19937_64 random(21);
  std::int64_t sum = 0, least = 0;
  for (const CouplingMap& map : {grid_of(4, 1), grid_of(2, 2), grid_of(5, 1)}) {
    for (int i = 0; i < 5; ++i) {
      const Circuit circuit = random_circuit(map.num_qubits(), 12, random);
      const std::int64_t fewest = fewest_swaps(circuit, map);
      const std::int64_t found = route_circuit(circuit, map, {60, 1, 3}).num_swaps;
      EXPECT_GE(found, fewest);
      sum += found;
      least += fewest;
    }
  }
  EXPECT_GT(least, 10);
  EXPECT_LE(sum, least + least / 10);
}

// Without swaps of its own: the operations of each wire keep their order.
TEST(SabreRouter, MeasurementsAndConditionsKeepTheirOrder) {
  std::istringstream in(
      "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[4]; creg c[2]; creg d[1];\n"
      "h q; cx q[0],q[3]; measure q[0]->c[0]; if(c==1) cx q[1],q[2]; barrier q; cx q[0],q[2];\n"
      "measure q[2]->c[1]; if(c==2) z q[3]; reset q[2]; cx q[1],q[3]; measure q[3]->d[0];\n"
      "if(d==1) x q[2];");
  const Circuit circuit = read_qasm(in);
  const CouplingMap map = grid_of(5, 1);
  const RoutedCircuit routed = route_circuit(circuit, map, {5, 1, 1});
  std::vector<int> at_place(5);
  for (int qubit = 0; qubit < 5; ++qubit) {
    at_place[static_cast<std::size_t>(routed.first_layout[static_cast<std::size_t>(qubit)])] =
        qubit;
  }
  Circuit replayed = circuit;
  replayed.operations.clear();
  for (Operation each : routed.circuit.operations) {
    if (each.name == "swap") {
      std::swap(at_place[static_cast<std::size_t>(each.qubits[0])],
                at_place[static_cast<std::size_t>(each.qubits[1])]);
      continue;
    }
    for (int& qubit : each.qubits) qubit = at_place[static_cast<std::size_t>(qubit)];
    replayed.operations.push_back(each);
  }
  const auto by_wire = [](const Circuit& of) {
    std::map<int, std::vector<std::string>> rows;
    for (const Operation& each : of.operations) {
      Circuit one = of;
      one.operations = {each};
      const std::string text = qasm_text(one);
      for (const int wire : wires_of(of, each)) rows[wire].push_back(text);
    }
    return rows;
  };
  EXPECT_EQ(by_wire(replayed), by_wire(circuit));
}

TEST(SabreRouter, TheSameSeedGivesTheSameResultForAnyThreads) {
  std::mt19937_64 random(2);
  const Circuit circuit = random_circuit(9, 100, random);
  const CouplingMap map = grid_of(3, 3);
  const RoutedCircuit one = route_circuit(circuit, map, {8, 1, 4});
  const RoutedCircuit three = route_circuit(circuit, map, {8, 3, 4});
  EXPECT_EQ(qasm_text(one.circuit), qasm_text(three.circuit));
  EXPECT_EQ(one.last_layout, three.last_layout);
}

TEST(SabreRouter, ACircuitLargerThanTheMapIsRefused) {
  Circuit circuit;
  circuit.num_qubits = 5;
  const auto refused = [&] { route_circuit(circuit, grid_of(2, 2), {}); };
  EXPECT_THAT(message_of(refused), HasSubstr("5 qubits and the coupling map 4"));
}

}  // namespace
}  // namespace tandem::planner
