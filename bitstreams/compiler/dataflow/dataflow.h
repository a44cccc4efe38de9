// SPDX-License-Identifier: Apache-2.0
//
// Turns the calls of `#pragma HLS dataflow` regions into processes.
//
// A block with the pragma opens a region. A statement in it that calls a function starts a process,
// also in conditions and unrolled loops; any other loop is one process. The body of a called
// function with `#pragma HLS inline` is a region, too (if it fits: dataflow_calls.h). The end of
// the block, its return statements, and the end of an inner block with variables join the
// processes. A process gets the variables that it uses, so it waits for earlier ones that write
// them. Declarations, method calls, assignments and expressions stay. `#pragma HLS stream
// variable=x depth=N` sets the depth of a stream of the same function.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::xclbin {

struct DataflowNotes {
  // The macros of the source, by name; called once, when a pragma names one. May be empty.
  std::function<std::map<std::string, std::string>()> macros = {};
  std::vector<std::string> warnings = {};  // each with file and line
};

// Input: preprocessed C++ (`c++ -E`, line markers and #pragma lines kept). Output: the same text
// with insertions. Line numbers stay. A prefix before the first line declares what the insertions
// use, so the output needs no header. Text with unmatched brackets is returned unchanged, because
// the compiler reports it better. Cost: linear in the text.
std::string rewrite_dataflow(std::string_view preprocessed, DataflowNotes* notes = nullptr);

}  // namespace tandem::xclbin
