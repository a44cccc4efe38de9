// SPDX-License-Identifier: Apache-2.0
//
// What is said of words of a command line or a configuration file that no option or command has.
//
// Pure functions of the parsed command line; threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

// " (did you mean 'model'?)" when the command has an option like `name` (both without dashes, as a
// configuration file has them), else nothing.
std::string option_suggestion(const CLI::App& command, const std::string& name);

// After a parse that left words over: what was not understood, with options as they are typed, and
// where to read on.
std::string unknown_words(const CLI::App& app);

}  // namespace tandem::apps
