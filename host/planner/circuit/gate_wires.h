// SPDX-License-Identifier: Apache-2.0
//
// GateWires: what a router needs to know of a circuit: operations that join wires, in levels.
//
// Wires are the qubits, then the classical bits. Operations on a single wire never wait for a link,
// so they are left out. Gates of one level can run at the same time. Threads: immutable. Cost:
// O(wires of all operations). Errors: none.
#pragma once

#include <utility>
#include <vector>

#include "planner/circuit/circuit.h"

namespace tandem::planner {

struct WireGate {
  int one = -1, other = -1;  // the qubits that it joins; -1: it needs no link
  int level = 0;
  std::vector<std::pair<int, int>> wires;  // wire, and how many gates of the wire precede this one

  bool needs_link() const { return one >= 0; }
};

class GateWires {
 public:
  // `is_reversed`: the order of the operations is reversed.
  GateWires(const Circuit& circuit, bool is_reversed);

  int num_qubits() const { return num_qubits_; }
  int num_wires() const { return static_cast<int>(gates_of_.size()); }
  int num_gates() const { return static_cast<int>(gates_.size()); }
  const WireGate& gate(int id) const { return gates_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& gates_of(int wire) const {
    return gates_of_[static_cast<std::size_t>(wire)];
  }

 private:
  int num_qubits_;
  std::vector<WireGate> gates_;             // by level
  std::vector<std::vector<int>> gates_of_;  // [num_wires] in order
};

}  // namespace tandem::planner
