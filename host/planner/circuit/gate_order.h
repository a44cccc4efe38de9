// SPDX-License-Identifier: Apache-2.0
//
// GateOrder: the dependencies between operations that share qubits or bits (wires).
//
// It answers which operations must come before which. Threads: immutable. Ownership: borrows the
// circuit. Cost of making it: linear in the number of wires of all operations together.
#pragma once

#include <span>
#include <vector>

#include "planner/circuit/circuit.h"

namespace tandem::planner {

class GateOrder {
 public:
  // `is_reversed`: the order of the operations is reversed.
  GateOrder(const Circuit& circuit, bool is_reversed);

  const Circuit& circuit() const { return *circuit_; }
  std::span<const int> next(int operation) const {
    const auto first = static_cast<std::size_t>(begins_[static_cast<std::size_t>(operation)]);
    const auto last = static_cast<std::size_t>(begins_[static_cast<std::size_t>(operation) + 1]);
    return {next_.data() + first, last - first};
  }
  // [num_operations] The number of operations that directly precede each operation.
  const std::vector<int>& num_before() const { return num_before_; }

 private:
  const Circuit* circuit_;
  std::vector<int> next_, begins_, num_before_;
};

}  // namespace tandem::planner
