// SPDX-License-Identifier: Apache-2.0
//
// Circuit: the operations of a quantum circuit on qubits and classical bits, in program order.
//
// Gates are those of qelib1.inc on one or two qubits, and the built-in gates U and CX of OpenQASM
// 2. Threads: values. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::planner {

enum class OperationKind { kGate, kMeasure, kReset, kBarrier };

struct ClassicalRegister {
  std::string name;
  int first = 0, size = 0;  // indices of the circuit's bits
};

// An operation with a condition runs only if the register has this value.
struct Condition {
  int classical_register = 0;
  std::uint64_t value = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kGate;
  std::string name;                // only of a gate
  std::vector<double> parameters;  // only of a gate
  std::vector<int> qubits;
  int bit = -1;  // the bit that gets the result of a measurement
  std::optional<Condition> condition;

  bool joins_two() const { return kind == OperationKind::kGate && qubits.size() == 2; }
};

struct Circuit {
  int num_qubits = 0;
  std::vector<ClassicalRegister> registers;  // in the order of their bits
  std::vector<Operation> operations;

  int num_bits() const {
    return registers.empty() ? 0 : registers.back().first + registers.back().size;
  }
};

// Returns the qubits and bits that the operation uses, barriers included. A bit is given as
// num_qubits + its index.
std::vector<int> wires_of(const Circuit& circuit, const Operation& operation);

// Returns the number of operations on the longest dependency path. Barriers order operations but do
// not count. `swap_length`: the length of a gate called swap; 3 if it is made of three CX gates.
std::int64_t depth_of(const Circuit& circuit, int swap_length = 1);

}  // namespace tandem::planner
