// SPDX-License-Identifier: Apache-2.0
//
// A third copy of a kernel's code in its object, made by clang: it counts what the time model needs
// (bitstreams/compiler/timing).
//
// The card starts tandem_timed_<kernel> when TANDEM_TIME is `model`. A kernel that clang does not
// take, or a machine without clang, goes without. Cost: two runs of clang. Threads: any, with
// different folders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/kernel_source.h"

namespace tandem::vpp {

struct TimedSource {
  PreprocessJob job;  // as for the compiler; the copy gets its own one
  std::string clang;
  // Completes the preprocessed text of the source that has the kernel.
  std::function<std::string(std::string)> complete;
  std::string kernel;
  double clock_mhz = 300;
  bool has_kernel = false;
};

// The wanted clang, else the first that starts; empty: none does.
std::string find_timing_clang(const std::string& wanted);
// The copy of one source: the path of its object. Throws Error with clang's messages.
std::string compile_timed(const TimedSource& source);
// Joins copies, as join_checked() does.
std::string join_timed(const std::vector<std::string>& objects,
                       const std::vector<std::string>& kernels, const std::string& folder);
std::vector<std::string> timed_symbols(const std::vector<std::string>& kernels);

}  // namespace tandem::vpp
