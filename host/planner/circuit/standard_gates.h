// SPDX-License-Identifier: Apache-2.0
//
// The gates of qelib1.inc. Those on one or two qubits are listed; larger ones are given as text.
//
// Threads: immutable. Errors: none. Source: Cross et al., arXiv 1707.03429, and qelib1.inc.
#pragma once

#include <span>
#include <string_view>

namespace tandem::planner {

struct StandardGate {
  std::string_view name;
  int num_parameters = 0, num_qubits = 1;
};

// Returns nullptr if qelib1.inc has no such gate. U and CX are built into the language.
const StandardGate* standard_gate(std::string_view name);
bool is_built_in(std::string_view name);
std::span<const StandardGate> standard_gates();

// Definitions of gates on three and more qubits, in OpenQASM 2.
std::string_view large_gate_text();

}  // namespace tandem::planner
