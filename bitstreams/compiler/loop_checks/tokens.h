// SPDX-License-Identifier: Apache-2.0
//
// Tokens of values that may be missing (missing_values.h), and calls of the card with them.
// Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// A function of the card: `void name(const void* token, ...)`.
tree card_function(const char* name, tree type);
tree token_type();
tree null_token();
// `a == b ? c : d`
tree choose_token(tree a, tree b, tree c, tree d, gimple_seq* code);
// The first of two that is not null.
tree first_token(tree one, tree other, gimple_seq* code);

}  // namespace tandem::loop_checks
