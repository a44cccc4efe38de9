// SPDX-License-Identifier: Apache-2.0
//
// Messages for unknown words of a command line or a configuration file.
//
// Pure functions of the parsed command line; threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

// " (did you mean 'model'?)" when the command has an option like `name` (both without dashes, as a
// configuration file has them), else nothing.
std::string option_suggestion(const CLI::App& command, const std::string& name);

// For a parse that left words over: names the unknown words and the help to read.
std::string unknown_words(const CLI::App& app);

}  // namespace tandem::apps
