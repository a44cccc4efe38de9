// SPDX-License-Identifier: Apache-2.0
//
// Gives the loops of a checked function of OpenCL C a second version without the checks of their
// accesses, before MemorySanitizer's pass. It runs if a look at all their bytes, before the loop,
// shows that no check can find anything.
//
// What the look covers has the mark `nosanitize` in that version, so neither the pass nor
// access_marks.h adds anything there. Accesses that it does not cover keep their checks. The loop
// as it was stays for all other cases, so findings are those of single accesses. The outermost
// loops come first, then those inside of their checked version. Threads: that of clang.
#pragma once

#include "bitstreams/compiler/opencl_c/loops/llvm_headers.h"

namespace tandem::opencl_loops {

// Makes the analyses anew after each change. Returns whether anything was changed.
bool version_loops(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

}  // namespace tandem::opencl_loops
