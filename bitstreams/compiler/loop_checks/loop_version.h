// SPDX-License-Identifier: Apache-2.0
//
// Gives the loops of a checked function a second version without the checks of their accesses. It
// runs if a look at all their bytes, before the loop, shows that no check can find anything.
//
// If only some iterations store to a local variable, one more version has the checks of these
// stores only: they note which bytes have a value.
//
// The loop with its checks stays, for all other cases; so findings are those of single accesses.
// The outermost loops come first, then the loops inside of their checked version. Threads: that of
// g++.
#pragma once

namespace tandem::loop_checks {

// In the current function, whose loops are in the form that loop passes need. Returns whether it
// changed anything.
bool version_loops();

}  // namespace tandem::loop_checks
