// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes circuits in OpenQASM 2.
//
// read_qasm() accepts registers, gates of qelib1.inc, gate definitions, measure, reset, barrier and
// if. Defined gates and gates on three or more qubits are expanded, so the circuit has only gates
// on one or two qubits. All quantum registers become one, in their order. qasm_text() writes one
// quantum register q; classical registers keep their names. Threads: pure. Errors: Error with the
// line. Limits: kMostQubits, and one million operations.
#pragma once

#include <istream>
#include <string>

#include "planner/circuit/circuit.h"

namespace tandem::planner {

constexpr int kMostQubits = 4096;

Circuit read_qasm(std::istream& in);
std::string qasm_text(const Circuit& circuit);

}  // namespace tandem::planner
