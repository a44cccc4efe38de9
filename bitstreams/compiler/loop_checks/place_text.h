// SPDX-License-Identifier: Apache-2.0
//
// Where a statement stands in the user's code. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// `file:line:line of the declaration:variable`; the first line is that of the user's code.
tree place_text(gimple* stmt, tree variable);
// The block of the function that a block was inlined from; null: none.
tree inlined_scope(tree block);
bool starts_with(const char* text, const char* begin);

}  // namespace tandem::loop_checks
