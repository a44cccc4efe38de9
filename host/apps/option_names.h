// SPDX-License-Identifier: Apache-2.0
//
// Messages for unknown words of a command line or a configuration file.
//
// Pure functions of the parsed command line; threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

// Returns " (did you mean 'model'?)" if the command has an option similar to `name`, otherwise
// nothing. Names have no dashes, as in a configuration file.
std::string option_suggestion(const CLI::App& command, const std::string& name);

// "; see `tandem COMMAND SUBCOMMAND --help`", as far as commands are named.
std::string help_hint(const CLI::App& app);

// The message for unknown words: it lists them and names the --help to read.
std::string unknown_words(const CLI::App& app);

}  // namespace tandem::apps
