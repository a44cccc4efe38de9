// SPDX-License-Identifier: Apache-2.0
//
// xbutil validate: a kernel is compiled by v++, loaded onto the card and its results checked.
//
// Everything is made in a folder of its own under the system's folder for temporary files and
// removed again. Errors: Error with the tool's output when v++ fails; wrong results are the return
// value. Threads: one at a time.
#pragma once

#include <string>

#include "emulation/tools/device_report.h"

namespace tandem::emulation {

struct ValidationStep {
  std::string name;
  std::string problem;  // empty: passed
};

// `tree`: the folder with bin/v++ and vitis/validate/vadd.cpp.
std::vector<ValidationStep> validate_card(const ListedCard& card, const std::string& tree);

}  // namespace tandem::emulation
