// SPDX-License-Identifier: Apache-2.0
//
// From the IR and the pragmas of a kernel to its KernelModel, and where its code is to count.
//
// Loops: pragmas by place; an innermost loop without one is pipelined as Vitis does by default; a
// pipelined loop unrolls the loops in it. Dependences: values that go around a loop, and loads of
// local arrays that may read what an earlier iteration stored. Cost: about a millisecond per
// function. Pure. Source: Vitis HLS user guide (UG1399), "Optimization Techniques".
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_pragmas.h"

namespace tandem::timing {

struct BlockCounter {
  std::size_t line = 0;  // of the IR: before it
  int counter = 0;
};

struct EntryCounter {
  std::size_t phi_line = 0, line = 0;       // where a phi and where an addition go
  std::vector<std::string> entering, back;  // labels of the blocks before the header
  int counter = 0;
};

struct SitePoint {
  std::size_t line = 0;
  int site = 0;
  std::string pointer;       // "%x"
  std::string pointer_type;  // "float*", or "ptr"
  std::string size;          // bytes: a number or "i64 %n"
};

struct Analysis {
  KernelModel model;
  std::vector<BlockCounter> blocks;
  std::vector<EntryCounter> entries;
  std::vector<SitePoint> sites;
};

// `kernel`: the function of the source. A module without it gives a model without functions.
Analysis analyse(const IrModule& module, const KernelPragmas& pragmas, const std::string& kernel,
                 double clock_mhz);

// Marks the functions that the analysis must find as functions (the kernel, reads and writes of
// streams) as ones that are not inlined. `ir`: before any optimisation.
std::string keep_functions(const std::string& ir, const std::string& kernel);

}  // namespace tandem::timing
