// SPDX-License-Identifier: Apache-2.0
//
// Levels first; then the gates are sorted by them and entered at their wires.
#include "planner/circuit/gate_wires.h"

#include <algorithm>

namespace tandem::planner {
namespace {

std::vector<int> distinct_wires(const Circuit& circuit, const Operation& operation) {
  std::vector<int> wires = wires_of(circuit, operation);
  std::ranges::sort(wires);
  wires.erase(std::unique(wires.begin(), wires.end()), wires.end());
  return wires;
}

}  // namespace

GateWires::GateWires(const Circuit& circuit, bool is_reversed)
    : num_qubits_(circuit.num_qubits),
      gates_of_(static_cast<std::size_t>(circuit.num_qubits + circuit.num_bits())) {
  std::vector<int> level_of(gates_of_.size());
  const std::size_t count = circuit.operations.size();
  for (std::size_t step = 0; step < count; ++step) {
    const Operation& operation = circuit.operations[is_reversed ? count - 1 - step : step];
    const std::vector<int> wires = distinct_wires(circuit, operation);
    if (wires.size() < 2) continue;
    WireGate gate;
    if (operation.joins_two()) {
      gate.one = operation.qubits[0];
      gate.other = operation.qubits[1];
    }
    for (const int wire : wires) {
      gate.level = std::max(gate.level, level_of[static_cast<std::size_t>(wire)]);
      gate.wires.emplace_back(wire, 0);
    }
    for (const int wire : wires) level_of[static_cast<std::size_t>(wire)] = gate.level + 1;
    gates_.push_back(std::move(gate));
  }
  std::ranges::stable_sort(gates_, {}, &WireGate::level);
  for (int id = 0; id < num_gates(); ++id) {
    for (auto& [wire, number] : gates_[static_cast<std::size_t>(id)].wires) {
      std::vector<int>& list = gates_of_[static_cast<std::size_t>(wire)];
      number = static_cast<int>(list.size());
      list.push_back(id);
    }
  }
}

}  // namespace tandem::planner
