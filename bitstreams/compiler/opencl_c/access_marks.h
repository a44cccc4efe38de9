// SPDX-License-Identifier: Apache-2.0
//
// Completes the checked copy of OpenCL C kernels, in the IR that MemorySanitizer's pass has left,
// before AddressSanitizer's pass.
//
// The states of values lie at kValueStates (drivers/emulation/card/checks/value_states.h); the
// states of parameters and results become variables of the copy, since a library runs on one
// thread. A store of a missing value calls the card (tandem_check_value_stored), and so do, in
// groups of several work-items, accesses to memory that items share (tandem_check_touch).
// Accesses to states get no checks themselves. Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::opencl_c {

// clang's flags for MemorySanitizer's pass.
std::vector<std::string> value_flags();

std::string mark_accesses(const std::string& ir);

}  // namespace tandem::opencl_c
