// SPDX-License-Identifier: Apache-2.0
//
// A read of a variable in memory that only computes what is stored next is no use of it yet: rows
// of a local array behind the last one are often computed and never looked at.
//
// follow_unset_loads(): the check of such a read becomes a call of tandem_take<bytes>(address),
// which returns a token (missing_values.h) if the bytes were never written. Where the value ends,
// tandem_used(token) or tandem_unset_store(token, address, bytes) tells the card. A read that is
// used at once keeps its check, which then reports it. Copies of structures call
// tandem_unset_copy(from, to, bytes). Threads: that of g++.
#pragma once

namespace tandem::loop_checks {

// In the current function. Returns whether it changed anything.
bool follow_unset_loads();

}  // namespace tandem::loop_checks
