// SPDX-License-Identifier: Apache-2.0
//
// What a process of a region uses beside streams, as text for the compiler: for each argument or
// variable one argument of Region::start() (bitstreams/compiler/dataflow/dataflow_prefix.h).
//
// Of a call, the arguments that are variables, elements, addresses or pointers with an offset;
// whether the call may write one is asked of the compiler. Of a loop, the function's variables it
// names; all count as written unless they are constant. Each text opens with ", ".
#pragma once

#include <string>

#include "bitstreams/compiler/dataflow/dataflow_source.h"

namespace tandem::xclbin {

// The call's tokens are [begin, end), its arguments between the brackets `open` and end - 1.
std::string call_uses(const DataflowSource& source, size_t begin, size_t open, size_t end);

// The statement's tokens are [begin, end).
std::string loop_uses(const DataflowSource& source, size_t begin, size_t end);

}  // namespace tandem::xclbin
