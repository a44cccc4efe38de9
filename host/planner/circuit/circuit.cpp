// SPDX-License-Identifier: Apache-2.0
//
// Every wire keeps the length of the way to its last operation.
#include "planner/circuit/circuit.h"

#include <algorithm>

namespace tandem::planner {

std::vector<int> wires_of(const Circuit& circuit, const Operation& operation) {
  std::vector<int> wires = operation.qubits;
  if (operation.bit >= 0) wires.push_back(circuit.num_qubits + operation.bit);
  if (operation.condition) {
    const auto& read =
        circuit.registers[static_cast<std::size_t>(operation.condition->classical_register)];
    for (int bit = 0; bit < read.size; ++bit) {
      if (read.first + bit == operation.bit) continue;
      wires.push_back(circuit.num_qubits + read.first + bit);
    }
  }
  return wires;
}

std::int64_t depth_of(const Circuit& circuit, int swap_length) {
  std::vector<std::int64_t> ways(static_cast<std::size_t>(circuit.num_qubits + circuit.num_bits()));
  std::int64_t most = 0;
  for (const Operation& operation : circuit.operations) {
    const std::vector<int> wires = wires_of(circuit, operation);
    std::int64_t way = 0;
    for (const int wire : wires) way = std::max(way, ways[static_cast<std::size_t>(wire)]);
    if (operation.kind != OperationKind::kBarrier) {
      way += operation.name == "swap" ? swap_length : 1;
    }
    for (const int wire : wires) ways[static_cast<std::size_t>(wire)] = way;
    most = std::max(most, way);
  }
  return most;
}

}  // namespace tandem::planner
