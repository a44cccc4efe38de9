// SPDX-License-Identifier: Apache-2.0
//
// static_counts(): what a run of a kernel would count, as far as its source alone tells.
//
// Every loop with a constant bound has its trips; one without has one iteration, and is listed.
// Every branch is taken. Accesses through arguments that are ports count as device memory, in one
// burst per entry of their loop; those through other arguments as accesses of a local memory. Pure.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/run_counts.h"

namespace tandem::timing {

struct StaticCounts {
  RunCounts counts;
  std::vector<TimedArgument> arguments;  // the ports
  std::vector<std::string> unbounded;    // "file.cpp:12", loops whose trips are not constant
};

// `ports`: arguments with their bundles; addresses are made up.
StaticCounts static_counts(const Analysis& analysis, const std::vector<TimedArgument>& ports);

}  // namespace tandem::timing
