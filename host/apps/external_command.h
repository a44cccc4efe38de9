// SPDX-License-Identifier: Apache-2.0
//
// Subcommands in separate programs: `tandem allreduce-bench` runs `tandem-collectives
// allreduce-bench` from the same folder.
//
// So the daemon does not link the message-passing libraries of these tools. Errors: Error if the
// program is not installed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

// Lists the external commands in --help.
void add_external_commands(CLI::App& app);

// If the first word is an external command, replaces this process by its program and does not
// return.
void run_if_external(std::vector<std::string> words);

}  // namespace tandem::apps
