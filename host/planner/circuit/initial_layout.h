// SPDX-License-Identifier: Apache-2.0
//
// level_layout: places for the qubits of a circuit before its first gate, level by level.
//
// The two-qubit gates are divided into levels of gates that could run at one time, and consecutive
// levels into sub-problems, as TIGER divides its graphs: the first one decides most. Every
// sub-problem counts half of the one before it; together they are one quadratic assignment, flows
// between qubits and distances between places, which the direct search solves. Threads: pure; the
// same seed gives the same layout. Errors: none. Source: arXiv 2009.10151, section 3.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/circuit/circuit.h"
#include "planner/circuit/coupling_map.h"

namespace tandem::planner {

// [num_qubits of the map] the place of every qubit; qubits beyond the circuit's fill the rest.
using QubitLayout = std::vector<int>;

QubitLayout level_layout(const Circuit& circuit, const CouplingMap& map, std::uint64_t seed);

}  // namespace tandem::planner
