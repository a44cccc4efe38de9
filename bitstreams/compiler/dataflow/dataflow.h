// SPDX-License-Identifier: Apache-2.0
//
// Turns the calls of `#pragma HLS dataflow` regions into processes.
//
// Input: preprocessed C++ (`c++ -E`, line markers and #pragma lines kept). Output: the same text,
// in which a block that holds the pragma opens a region, every statement in it that is a call of a
// function (also in conditions and unrolled loops) starts a process of the region, any other loop
// is one process, and the block's end and its return statements join them, as does the end of an
// inner block with variables. A process gets the variables it uses, so that it waits for earlier
// ones that write them. Declarations, method calls, assignments and expressions stay; `#pragma HLS
// stream variable=x depth=N` sets the depth of a stream of the same function. Line numbers stay; a
// prefix in front of the first line declares what the inserted text uses, so the output needs no
// header. Text whose brackets do not match comes back unchanged: the compiler has the better
// message. Cost linear in the text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::xclbin {

struct DataflowNotes {
  // The macros of the source, by name; asked for once when a pragma names one. May be empty.
  std::function<std::map<std::string, std::string>()> macros = {};
  std::vector<std::string> warnings = {};  // with file and line
};

std::string rewrite_dataflow(std::string_view preprocessed, DataflowNotes* notes = nullptr);

}  // namespace tandem::xclbin
