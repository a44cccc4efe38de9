// SPDX-License-Identifier: Apache-2.0
//
// The variables that a process of a region uses, besides streams, as text for the compiler. Each
// one becomes an argument of Region::start() (bitstreams/compiler/dataflow/dataflow_prefix.h).
//
// For a call: the arguments that are variables, elements, addresses or pointers with an offset; the
// compiler decides whether the call may write them. For a loop: the function's variables that it
// names; all count as written unless they are constant. Each text starts with ", ".
#pragma once

#include <string>

#include "bitstreams/compiler/dataflow/dataflow_source.h"

namespace tandem::xclbin {

// The call's tokens are [begin, end), its arguments between the brackets `open` and end - 1.
std::string call_uses(const DataflowSource& source, size_t begin, size_t open, size_t end);

// Declarations of the classes that template arguments before `open` are the first to name
// (`f<class tag>(a)`): g++ 12 cannot declare them in a lambda. Each ends with a space.
std::string new_classes(const DataflowSource& source, size_t begin, size_t open);

// The statement's tokens are [begin, end).
std::string loop_uses(const DataflowSource& source, size_t begin, size_t end);

}  // namespace tandem::xclbin
