// SPDX-License-Identifier: Apache-2.0
//
// level_layout: chooses where each qubit of a circuit starts on the machine.
//
// The two-qubit gates are divided into levels; gates of one level can run at the same time.
// Consecutive levels form sub-problems, as in TIGER. Each sub-problem has half the weight of the
// one before it, because early gates matter most. Together they form one quadratic assignment
// problem: the gates between two qubits are its flows, the distances of the map its distances.
// search_permutation() solves it. Threads: pure; the same seed gives the same layout. Errors: none.
// Source: arXiv 2009.10151, section 3.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/circuit/circuit.h"
#include "planner/circuit/coupling_map.h"

namespace tandem::planner {

// [num_qubits of the map] The physical qubit of every circuit qubit. Entries beyond the circuit's
// qubits hold the unused physical qubits.
using QubitLayout = std::vector<int>;

QubitLayout level_layout(const Circuit& circuit, const CouplingMap& map, std::uint64_t seed);

}  // namespace tandem::planner
