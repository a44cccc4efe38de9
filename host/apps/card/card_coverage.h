// SPDX-License-Identifier: Apache-2.0
//
// `tandem card run --coverage FOLDER`: which lines of kernels ran, for gcov and lcov.
//
// Kernels that v++ compiled with TANDEM_KERNEL_COVERAGE=on write their counts below FOLDER, at the
// paths where v++ left their .gcno files; runs add up. Afterwards the .gcno files are copied beside
// them, so that FOLDER alone is enough for `gcov` and `lcov --capture --directory FOLDER`. Errors:
// Error("card", ...) if nothing counted, or a file cannot be copied.
#pragma once

#include <string>

#include "apps/card/command_on_cards.h"

namespace tandem::apps {

// Before the run; makes the folder.
void count_coverage(CommandOnCards& command, const std::string& folder);

// After it; the text says how to read the counts.
std::string gather_coverage(const std::string& folder);

}  // namespace tandem::apps
