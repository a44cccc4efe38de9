// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiler or a similar tool without a shell.
#pragma once

#include <string>
#include <vector>

namespace tandem::xclbin {

// Waits for the command and returns what it printed; throws Error with that when it cannot start
// or fails. `failure` opens the error's text.
std::string run_tool(const std::vector<std::string>& command, const std::string& failure);

// Whether `compiler` knows `flag`; false too when it cannot be started. Cost: one start.
bool accepts_flag(const std::string& compiler, const std::string& flag);

}  // namespace tandem::xclbin
