// SPDX-License-Identifier: Apache-2.0
//
// Calls of the kernel's own functions that only compute a result. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// Whether the function is known here and stores to nothing but its own variables: then a missing
// argument matters only as its result does. Cost: linear in its statements, once.
bool only_computes_result(gimple* call);
// Looks at the current function, to be called while its first statements are still known: later
// g++ drops them before it compiles the callers.
void note_function();

}  // namespace tandem::loop_checks
