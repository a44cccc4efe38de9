// SPDX-License-Identifier: Apache-2.0
//
// Branches and switches that only choose between values. Cost: linear in the statements between the
// branch and the block where its ways meet. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// Whichever way it takes, it goes on at one block, and all that differs are values that come in
// there, and what was stored to local variables. Other choices may stand between: `a < b ? a : c <
// d ? c : d`. In `a > b && b > c` the second condition shares a way with the first: its choice
// begins at the first.
struct Choice {
  basic_block begin;                 // its last statement is the branch, or one before it
  std::vector<basic_block> between;  // behind `begin`, each behind all that lead to it
  std::vector<edge> ways;            // from the branch to the results
  std::vector<gphi*> results;
  std::vector<gimple*> stores;  // behind the branch; their addresses are known before it
};
// `branch`: a condition or a switch. False: it decides about more than values.
bool only_chooses(gimple* branch, Choice* choice);
// Whether a statement has no effect but its result. Checks may stand there: what they are for is
// the effect.
bool only_computes(gimple* stmt);

}  // namespace tandem::loop_checks
