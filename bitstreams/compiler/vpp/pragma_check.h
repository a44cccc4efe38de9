// SPDX-License-Identifier: Apache-2.0
//
// Mistyped `#pragma HLS` lines: they compile, and do nothing without a word.
//
// Knows the names and options of the vendor's guide, and those of its predecessor, whatever they
// mean to emulation. A name or a `key=` that is none of them is told with the one it is like; a
// word without '=' only when it is like one, as it may be part of a value. Values are not checked,
// but an interface's mode. Pure; cost linear in the text; threads: any. Source: Vitis HLS user
// guide (UG1399), "HLS Pragmas".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::vpp {

// Of a preprocessed source with line markers: "add.cpp:7: ...", system headers left out.
std::vector<std::string> check_pragmas(std::string_view preprocessed);

}  // namespace tandem::vpp
