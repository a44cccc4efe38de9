// SPDX-License-Identifier: Apache-2.0
//
// Turns the calls of `#pragma HLS dataflow` regions into processes.
//
// Input: preprocessed C++ (`c++ -E`, line markers and #pragma lines kept). Output: the same text,
// in which a block that holds the pragma opens a region, every statement in it that is a call of a
// function (at any depth of loops and conditions) starts a process of the region, and the block's
// end and its return statements join them. Declarations, method calls, assignments and expressions
// stay; `#pragma HLS stream variable=x depth=N` sets the depth of a stream of the same function.
// Line numbers stay; a prefix in front of the first line declares what the inserted text uses, so
// the output needs no header. Text whose brackets do not match comes back unchanged: the compiler
// has the better message. Pure; cost linear in the text.
#pragma once

#include <string>
#include <string_view>

namespace tandem::xclbin {

std::string rewrite_dataflow(std::string_view preprocessed);

}  // namespace tandem::xclbin
