// SPDX-License-Identifier: Apache-2.0
//
// Gates of qelib1.inc: those on one or two qubits stay as they are, larger ones are given as text.
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

// nullptr where the gate is not one of them. U and CX belong to the language itself.
const StandardGate* standard_gate(std::string_view name);
bool is_built_in(std::string_view name);
std::span<const StandardGate> standard_gates();

// Definitions of gates on three and more qubits, in OpenQASM 2.
std::string_view large_gate_text();

}  // namespace tandem::planner
