// SPDX-License-Identifier: Apache-2.0
//
// Warns of mistyped `#pragma HLS` lines, which compile and have no effect.
//
// The check knows the names and options of the vendor's guide and of its predecessor, also those
// without effect in emulation. An unknown name or `key=` is reported with the nearest known one. A
// word without '=' is reported only when it is close to a known one, because it may be part of a
// value. Values are not checked, except an interface's mode. Pure; cost linear in the text;
// threads: any. Source: Vitis HLS user guide (UG1399), "HLS Pragmas".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::vpp {

// The warnings about a preprocessed source with line markers, as "add.cpp:7: ...". System headers
// are not checked.
std::vector<std::string> check_pragmas(std::string_view preprocessed);

}  // namespace tandem::vpp
