// SPDX-License-Identifier: Apache-2.0
//
// Prints messages of the emulation through XRT's own message channel (levels and sinks as set in
// xrt.ini).
#pragma once

#include <string>

namespace tandem::emulation {

void report_error(const std::string& text);
void report_warning(const std::string& text);

}  // namespace tandem::emulation
