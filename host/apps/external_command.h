// SPDX-License-Identifier: Apache-2.0
//
// Subcommands in separate programs: `tandem allreduce-bench` runs `tandem-collectives
// allreduce-bench` from the same folder.
//
// So the daemon links nothing that only these tools need, such as libraries of message passing.
// Errors: Error if the program is not installed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

// Lists the external commands in --help.
void add_external_commands(CLI::App& app);

// Moves an external command that follows options of all programs before them: "--log-level debug
// map --seconds 1" becomes "map --log-level debug --seconds 1". Throws Error("options", ...) if
// another option stands before an external command.
std::vector<std::string> with_command_first(std::vector<std::string> words);

// Why the program at `path` does not run, with the `error` of execv(); if it is missing, how to get
// it.
std::string cannot_run(const std::string& path, int error);

// If an external command is named, replaces this process by its program and does not return.
void run_if_external(const std::vector<std::string>& given);

}  // namespace tandem::apps
