// SPDX-License-Identifier: Apache-2.0
//
// Removes the checks of local variables for which they can never find anything: those to which no
// pointer exists, whose accesses all lie inside of them, and of which no byte is read before a
// store. Such are most values of the HLS types and the temporaries around them. The other checks of
// aligned copies and atomic values become those of numbers, which v++ makes inline.
//
// Threads: that of g++.
#pragma once

namespace tandem::loop_checks {

// In the current function. Returns whether it removed anything.
bool drop_private_checks();

}  // namespace tandem::loop_checks
