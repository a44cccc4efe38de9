// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions in a source, by their form, and the functions that Vitis HLS inlines.
#pragma once

#include <map>
#include <string>

#include "bitstreams/compiler/dataflow/dataflow_source.h"

namespace tandem::xclbin {

// The function's name if the statement is `[(void)] name[<...>](...)`, with any qualification;
// otherwise empty. `open`: the bracket of its arguments.
std::string called_function(const DataflowSource& source, size_t at, size_t semicolon,
                            size_t& open);
// The name of a loop in messages: its label, or the function that it calls.
std::string loop_name(const DataflowSource& source, size_t at, size_t end);
// The opening brackets of the bodies of functions with `#pragma HLS inline` that call functions, by
// the functions' names. Left out: constexpr functions, and bodies where other statements follow a
// call, since they may need what it does. None if the brackets do not match.
std::multimap<std::string, size_t> inline_bodies(const DataflowSource& source);

}  // namespace tandem::xclbin
