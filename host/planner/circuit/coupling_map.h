// SPDX-License-Identifier: Apache-2.0
//
// CouplingMap: the pairs of qubits on which a machine can run a two-qubit gate, and all distances.
//
// Text files have one pair of qubits per line, separated by blanks, a comma or "--". The first line
// may hold the number of qubits; # begins a comment. JSON files hold a list of pairs, or an object
// with "edges" or "coupling_map" and an optional "num_qubits". Pairs have no direction. Threads:
// immutable. Errors: Error with the line or entry, also if the map is not connected. Memory:
// O(qubits^2).
#pragma once

#include <cstdint>
#include <istream>
#include <utility>
#include <vector>

namespace tandem::planner {

class CouplingMap {
 public:
  // `num_qubits` 0: the number follows from the pairs.
  CouplingMap(int num_qubits, const std::vector<std::pair<int, int>>& pairs);

  int num_qubits() const { return static_cast<int>(neighbours_.size()); }
  const std::vector<int>& neighbours(int qubit) const {
    return neighbours_[static_cast<std::size_t>(qubit)];
  }
  // The number of links on the shortest path.
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
