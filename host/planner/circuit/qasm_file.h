// SPDX-License-Identifier: Apache-2.0
//
// Circuits in OpenQASM 2.
//
// read_qasm: registers, gates of qelib1.inc, own gates, measure, reset,
// barrier and if. Own gates and gates on three or more qubits are replaced by what they are made
// of, so the circuit has gates on one or two qubits only. All quantum registers become one, in
// their order. qasm_text: one quantum register q; classical registers keep their names. Threads:
// pure. Errors: Error with the line. Limits: kMostQubits, and one million operations.
#pragma once

#include <istream>
#include <string>

#include "planner/circuit/circuit.h"

namespace tandem::planner {

constexpr int kMostQubits = 4096;

Circuit read_qasm(std::istream& in);
std::string qasm_text(const Circuit& circuit);

}  // namespace tandem::planner
