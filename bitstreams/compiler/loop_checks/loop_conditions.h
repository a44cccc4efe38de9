// SPDX-License-Identifier: Apache-2.0
//
// What must hold before a loop so that its checks of indices and of alignments find nothing.
// Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// Of a check inside of `outer`. Null: it is not known before the loop.
tree index_condition(Loop* outer, gimple* stmt);
tree alignment_condition(Loop* outer, gimple* stmt);

}  // namespace tandem::loop_checks
