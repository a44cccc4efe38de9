// SPDX-License-Identifier: Apache-2.0
//
// Adds run-time checks to the IR of OpenCL C kernels: between the passes of MemorySanitizer, which
// tracks the state of each value (missing or not), and of AddressSanitizer.
//
// States lie at kValueStates (drivers/emulation/card/checks/value_states.h). Those of parameters
// and results become plain variables, since a library runs on one thread. The new calls check the
// bounds of each access. They also tell the card of stores of missing values
// (tandem_check_value_stored) and, in groups of several work-items, of accesses to memory that the
// items share (tandem_check_touch). Accesses to states are not checked. Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::opencl_c {

// clang's flags for MemorySanitizer's pass.
std::vector<std::string> value_flags();

std::string mark_accesses(const std::string& ir);

}  // namespace tandem::opencl_c
