// SPDX-License-Identifier: Apache-2.0
//
// Turns `#pragma HLS stream variable=x depth=N` into a statement for a stream of the same function.
//
// A depth is an expression of numbers, constants of the program and macros. The preprocessor
// expands macros in the text but not in pragmas, so the definitions are requested when a pragma
// names one. An unknown depth counts as a million, and gives a warning with the pragma's file
// and line. Cost: linear in the text.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow.h"
#include "bitstreams/compiler/dataflow/dataflow_source.h"

namespace tandem::xclbin {

struct DepthStatement {
  size_t at;  // offset in the text
  std::string text;
};

// `pragmas`: the tokens of stream pragmas.
std::vector<DepthStatement> stream_depths(const DataflowSource& source,
                                          const std::vector<size_t>& pragmas, DataflowNotes& notes);

}  // namespace tandem::xclbin
