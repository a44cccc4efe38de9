// SPDX-License-Identifier: Apache-2.0
//
// Checks of stores that g++ leaves out or would drop. Threads: that of g++.
#pragma once

namespace tandem::loop_checks {

// Of a read and a store of one element g++ checks only the first: adds the check of the store.
// Returns whether it changed the current function.
bool check_all_stores();
// Behind a check of a load, the compiler drops that of a store to the same place: keeps it.
void keep_store_checks();

}  // namespace tandem::loop_checks
