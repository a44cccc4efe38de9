// SPDX-License-Identifier: Apache-2.0
//
// The checks of accesses that g++ adds, each before its statement, mostly right before. Threads:
// that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

bool is_access_check(gimple* stmt, bool is_store);
// The bytes of a checked access to a number; 0: it is none of 1 to 16.
HOST_WIDE_INT bytes_of_check(gimple* stmt);
// Whether `pointer` is the address of `element`.
bool points_to(tree pointer, tree element);
// The load that a check is for, which may have been moved behind; null: it is not known.
gimple* load_of(gimple* check);
void replace_check(gimple* check, gcall* call);

}  // namespace tandem::loop_checks
