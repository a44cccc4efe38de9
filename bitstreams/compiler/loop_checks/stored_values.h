// SPDX-License-Identifier: Apache-2.0
//
// Where the value of a store goes: to a variable whose bytes the card knows, to what the function
// returns, or to a variable that only this function's statements know. Cost: linear in the
// function. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// The variable of a place or behind a pointer, or the pointer that its address was computed from.
tree pointed_root(tree pointer);
tree root_of(tree place);
// The loads that read what a store to a variable without marks leaves there, if its address is not
// taken: then nothing else tells the card. Where branches join, it is not known.
std::vector<gimple*> loads_behind(gimple* store);
// Whether both are the same bytes for sure.
bool are_same_place(tree one, tree other);
// Bytes of the target of a store; 0 bytes: they are not known, and the target has no value.
struct Part {
  HOST_WIDE_INT offset = 0, bytes = 0;
};
Part whole_of(gimple* store);
// Where a part of what `store` stores lies in the target of the copy `load`.
Part part_in(gimple* load, gimple* store, const Part& part);
tree address_of(tree target, const Part& part);
// Whether nothing is stored there between the check, which comes first, and the load.
bool reads_state_at(gimple* load, gimple* check);
// Whether the card knows which bytes of the target of a store have a value: it does for variables
// whose scopes are marked in this function, and behind pointers.
bool has_marks(tree target);
// Whether the scope of a variable begins or ends there.
bool marks(gimple* stmt, tree variable);
// Whether only this function's statements know the variable of a store.
bool is_hidden(tree target);
// Whether the target is what the function returns.
bool is_returned(tree target);

}  // namespace tandem::loop_checks
