// SPDX-License-Identifier: Apache-2.0
//
// Runs one compiler command without a shell.
#pragma once

#include <string>
#include <vector>

namespace tandem::xclbin {

// Waits for the command; throws Error with its diagnostics when it cannot start or fails.
void run_compiler(const std::vector<std::string>& command, bool verbose);

// The same for any program: returns what it printed; `failure` opens the error's text.
std::string run_tool(const std::vector<std::string>& command, const std::string& failure);

// Whether `compiler` knows `flag`; false too when it cannot be started. Cost: one start.
bool accepts_flag(const std::string& compiler, const std::string& flag);

}  // namespace tandem::xclbin
