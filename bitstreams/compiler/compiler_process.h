// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiler or a similar tool without a shell.
#pragma once

#include <string>
#include <vector>

namespace tandem::xclbin {

// Waits for the command and returns its output. If it cannot start or fails, throws Error with
// `failure` and the output as text.
std::string run_tool(const std::vector<std::string>& command, const std::string& failure);

// Links objects into one relocatable object, by ld. Section groups are resolved, so functions with
// the same name in several objects can become local afterwards. Errors as above.
void join_objects(const std::vector<std::string>& objects, const std::string& joined,
                  const std::string& failure);

// Whether `compiler` accepts `flag`; also false if it cannot be started. Cost: one start.
bool accepts_flag(const std::string& compiler, const std::string& flag);
// The same for several flags together.
bool accepts_flags(const std::string& compiler, const std::vector<std::string>& flags);

}  // namespace tandem::xclbin
