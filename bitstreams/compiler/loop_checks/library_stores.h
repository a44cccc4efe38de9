// SPDX-License-Identifier: Apache-2.0
//
// Functions of the C library have no checks. Some of them store a result through a pointer, such as
// modf(value, &whole): without a check of that store, the card would take the result for a value
// that is missing. Of other functions of system headers that are compiled elsewhere, as those of
// std::string, it is not known what they store: tandem_written(address, bytes) tells the card that
// all behind their pointers may have a value now. Before memcpy() from an array,
// tandem_copied_array(from, to, bytes) lets it look for elements that are missing. Threads: that of
// g++.
#pragma once

namespace tandem::loop_checks {

// Adds these checks and calls to the current function. Returns whether it changed anything.
bool check_library_stores();

}  // namespace tandem::loop_checks
