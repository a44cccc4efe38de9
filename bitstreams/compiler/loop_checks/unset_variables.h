// SPDX-License-Identifier: Apache-2.0
//
// Lets the card see uses of local variables that have no value yet (missing_values.h).
//
// check_unset_values(): of variables that are in no memory, or of members of structures that have
// become such variables; called wherever g++ makes more of them. A use calls tandem_used(token), a
// store tandem_unset_store(token, address, bytes). A variable whose value of the iteration before
// is there has a value. mark_scopes_from_entry(): for variables in memory. g++ drops the mark that
// a scope begins unless the scope may begin again; a mark that it has ended, at the begin of the
// function, keeps it. Threads: that of g++.
#pragma once

namespace tandem::loop_checks {

// In the current function. Return whether they changed anything.
bool check_unset_values();
bool mark_scopes_from_entry();

}  // namespace tandem::loop_checks
