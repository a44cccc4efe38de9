// SPDX-License-Identifier: Apache-2.0
//
// CouplingMap: which qubits of a machine can be joined by a gate, and how far apart any two are.
//
// Files: lines with two qubits each, divided by blanks, a comma or "--", after an optional line
// with the number of qubits, with # comments; or JSON, a list of pairs or an object with "edges" or
// "coupling_map" and optional "num_qubits". Directions count not. Threads: immutable. Errors: Error
// with line or entry; a map in several parts is refused. Memory: O(qubits^2).
#pragma once

#include <cstdint>
#include <istream>
#include <utility>
#include <vector>

namespace tandem::planner {

class CouplingMap {
 public:
  // `num_qubits` 0: as many as the pairs name.
  CouplingMap(int num_qubits, const std::vector<std::pair<int, int>>& pairs);

  int num_qubits() const { return static_cast<int>(neighbours_.size()); }
  const std::vector<int>& neighbours(int qubit) const {
    return neighbours_[static_cast<std::size_t>(qubit)];
  }
  // Links on the shortest way.
  int distance(int qubit, int other) const {
    return distances_[static_cast<std::size_t>(qubit) * neighbours_.size() +
                      static_cast<std::size_t>(other)];
  }

 private:
  void measure_from(int qubit);

  std::vector<std::vector<int>> neighbours_;
  std::vector<std::uint16_t> distances_;  // [num_qubits, num_qubits]
};

CouplingMap read_coupling_map(std::istream& in);

}  // namespace tandem::planner
