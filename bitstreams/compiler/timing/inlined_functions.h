// SPDX-License-Identifier: Apache-2.0
//
// Which functions of a kernel are no modules of their own.
//
// One with the pragma `inline` is part of its callers. One that is called in a pipelined loop is
// pipelined together with it, and so are all that it calls: their loops are unrolled. A loop that
// is pipelined without a pragma calls no loops. Pure. Source: Vitis HLS user guide (UG1399),
// "Function Inlining", "Pipelining Loops".
#pragma once

#include <set>
#include <string>

#include "bitstreams/compiler/timing/ir_text.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_pragmas.h"

namespace tandem::timing {

// `module`: before any optimisation. Names of the IR.
std::set<std::string> inlined_by_pragma(const IrModule& module, const KernelPragmas& pragmas);

// `model`: made with these functions not inlined.
std::set<std::string> inlined_into_pipelines(const KernelModel& model);

}  // namespace tandem::timing
