// SPDX-License-Identifier: Apache-2.0
//
// analyse(): makes the KernelModel from the IR and the pragmas of a kernel, and lists where
// counters go into its code.
//
// Loops: a pragma applies to the loop at its place. An innermost loop without a pragma is
// pipelined, as Vitis does by default. A pipelined loop unrolls its inner loops. Dependences:
// values that pass from one iteration to the next, and loads of local arrays that may read a store
// of an earlier iteration. Cost: about a millisecond per function. Pure. Source: Vitis HLS user
// guide (UG1399), "Optimization Techniques".
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_pragmas.h"

namespace tandem::timing {

struct BlockCounter {
  std::size_t line = 0;  // line of the IR before which the counter is inserted
  int counter = 0;
};

struct EntryCounter {
  std::size_t phi_line = 0, line = 0;       // lines where a phi and an addition are inserted
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

// Where the card is told of a stream's access, or that a region of processes begins.
struct StreamHook {
  std::size_t line = 0;
  int number = 0;            // of the point, or of the region's function
  std::string pointer;       // "%s"; empty: a region
  std::string pointer_type;  // "%\"class.hls::stream\"*", or "ptr"
};

struct Analysis {
  KernelModel model;
  std::vector<BlockCounter> blocks;
  std::vector<EntryCounter> entries;
  std::vector<SitePoint> sites;
  std::vector<StreamHook> streams;
  std::map<std::string, std::string> ports;  // m_axi arguments, with their bundles
};

// `kernel`: the function in the source. If the module lacks it, the model has no functions.
Analysis analyse(const IrModule& module, const KernelPragmas& pragmas, const std::string& kernel,
                 double clock_mhz);

// Whether a function of the IR is one of the source: "vadd" or "_Z4vaddPKiS0_Pii".
bool is_function(const std::string& ir_name, const std::string& name);

// Marks the functions that the analysis must find as functions (the kernel, reads, writes and
// tests of streams) as ones that are not inlined, and those of ap_int and ap_fixed and `inlined` as
// ones that are. `ir`: before any optimisation.
std::string keep_functions(const std::string& ir, const std::string& kernel,
                           const std::set<std::string>& inlined = {});

}  // namespace tandem::timing
