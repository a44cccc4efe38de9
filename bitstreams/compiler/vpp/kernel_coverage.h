// SPDX-License-Identifier: Apache-2.0
//
// A kernel for gcov: compiled without optimisation, with counters of the lines that ran.
//
// TANDEM_KERNEL_COVERAGE=on asks v++ -c for it. Then there is no checked and no timed copy, so
// every run counts. `OUTPUT's stem.SOURCE's stem.gcno` stands beside the kernel object, and each
// run adds to the .gcda file of the same name, or to that path below GCOV_PREFIX. Needs g++. Pure.
// Source: GCC manual, "Cross-profiling".
#pragma once

#include <string>
#include <vector>

namespace tandem::vpp {

// The flags of one source; they follow all others. `output`: the kernel object.
std::vector<std::string> coverage_flags(const std::string& output, const std::string& source_stem);

// A function that the card calls after each run, as text for the end of the kernel's source.
std::string coverage_text(const std::string& kernel);

// The name of that function, a symbol that the linked kernel must keep.
std::string coverage_symbol(const std::string& kernel);

// Whether an object counts; `object`: its bytes.
bool counts_coverage(const std::string& object);

}  // namespace tandem::vpp
