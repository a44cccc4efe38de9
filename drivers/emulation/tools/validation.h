// SPDX-License-Identifier: Apache-2.0
//
// xbutil validate: compiles a kernel with v++, loads it onto the card and checks its results.
//
// All files are in a new folder under the system's temporary folder, which is removed at the end.
// Errors: Error with the tool's output when v++ fails; wrong results are the return value. Threads:
// one at a time.
#pragma once

#include <string>

#include "emulation/tools/device_report.h"

namespace tandem::emulation {

struct ValidationStep {
  std::string name;
  std::string problem;  // empty: the step passed
};

// `tree`: the folder with bin/v++ and vitis/validate/vadd.cpp.
std::vector<ValidationStep> validate_card(const ListedCard& card, const std::string& tree);

}  // namespace tandem::emulation
