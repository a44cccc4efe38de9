// SPDX-License-Identifier: Apache-2.0
//
// g++ does not check accesses to one part of a complex number. Threads: that of g++.
#pragma once

namespace tandem::loop_checks {

// Adds these checks to the current function. Returns whether it changed anything.
bool check_complex_parts();

}  // namespace tandem::loop_checks
