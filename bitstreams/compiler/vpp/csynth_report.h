// SPDX-License-Identifier: Apache-2.0
//
// `v++ --csynth-report TOP CLOCK_NS SOURCE [FLAG...]`: prints the time model's report of a function
// without running it. csynth_design of the Tcl front end calls it.
//
// The report has the cycles of a call and a line per loop: trips, II, depth, and why. Loops whose
// trips are not constant count as one iteration, and are marked. A function that the source does
// not define gives the exit code kNotHere. Errors: Error("v++", ...), also where clang is missing.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/analysis.h"

namespace tandem::vpp {

constexpr const char* kCsynthReport = "--csynth-report";
constexpr int kNotHere = 3;

// `words`: after the option. Returns the exit code.
int print_csynth_report(const std::vector<std::string>& words, const std::string& clang);

// The report of an analysed function. Pure.
std::string csynth_report(const timing::Analysis& analysis, const std::string& top);

}  // namespace tandem::vpp
