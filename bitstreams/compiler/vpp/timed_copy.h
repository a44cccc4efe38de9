// SPDX-License-Identifier: Apache-2.0
//
// Adds a third copy of a kernel's code to its object, made by clang. It has counters for the time
// model (bitstreams/compiler/timing).
//
// The card starts tandem_timed_<kernel> if TANDEM_TIME is `model`. If clang is missing or cannot
// compile the kernel, there is no such copy. Cost: three runs of clang, four if pipelined loops
// call functions. Threads: any, with different folders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/vpp/kernel_source.h"

namespace tandem::vpp {

struct TimedSource {
  PreprocessJob job;  // as for the compiler; the copy changes its own one
  std::string clang;
  // Completes the preprocessed text of the source that contains the kernel.
  std::function<std::string(std::string)> complete;
  std::string kernel;
  double clock_mhz = 300;
  bool has_kernel = false;
};

// Returns `wanted`, or the first clang that starts; empty if there is none.
std::string find_timing_clang(const std::string& wanted);
// Compiles the copy of one source and returns the path of its object. Throws Error with clang's
// messages.
std::string compile_timed(const TimedSource& source);
// The copy of an OpenCL C kernel, whose IR clang has made and not optimised.
struct TimedIr {
  std::string path, clang, kernel;
  double clock_mhz = 300;
  timing::KernelPragmas pragmas;
};
std::string compile_timed_ir(const TimedIr& source);
// C++ text with the functions that a copy calls.
std::string timed_stubs();
// What precedes the kernel's name in the symbols of a copy, but for its entry.
std::vector<std::string> timed_prefixes();
// The analysis of the kernel alone, without a copy of it. Errors as above.
timing::Analysis analyse_timed(const TimedSource& source);
// Joins copies, as join_checked() does.
std::string join_timed(const std::vector<std::string>& objects,
                       const std::vector<std::string>& kernels, const std::string& folder);
std::vector<std::string> timed_symbols(const std::vector<std::string>& kernels);

}  // namespace tandem::vpp
