// SPDX-License-Identifier: Apache-2.0
//
// Circuit: operations on qubits and bits in their order.
//
// Gates are those of qelib1.inc on one or two qubits, and U and CX. Threads: values. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::planner {

enum class OperationKind { kGate, kMeasure, kReset, kBarrier };

struct ClassicalRegister {
  std::string name;
  int first = 0, size = 0;  // bits of the circuit
};

// The operation runs where the register has this value.
struct Condition {
  int classical_register = 0;
  std::uint64_t value = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kGate;
  std::string name;                // of a gate
  std::vector<double> parameters;  // of a gate
  std::vector<int> qubits;
  int bit = -1;  // of a measurement
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

// Qubits and bits that an operation touches: num_qubits + bit for a bit. Barriers touch qubits.
std::vector<int> wires_of(const Circuit& circuit, const Operation& operation);

// Operations on the longest way from the begin to the end; barriers order, but count not.
// `swap_length`: of a gate called swap; 3 where it is made of CX.
std::int64_t depth_of(const Circuit& circuit, int swap_length = 1);

}  // namespace tandem::planner
