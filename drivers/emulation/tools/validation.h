// SPDX-License-Identifier: Apache-2.0
//
// validate_card: `xbutil validate`: compiles a kernel with v++, loads it onto the card and checks
// its results.
//
// All files are in a new temporary folder, which is removed at the end. Errors: Error with the
// tool's output if v++ fails; wrong results are reported by the return value. Threads: one at a
// time.
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
