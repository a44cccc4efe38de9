// SPDX-License-Identifier: Apache-2.0
//
// What is said of words of a command line or a configuration file that no option or command has.
//
// Pure functions of the parsed command line; threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

// " (did you mean 'model'?)" when the command has an option like `name` (without dashes), else
// nothing.
std::string option_suggestion(const CLI::App& command, const std::string& name);

// After CLI::ExtrasError: what was not understood, and where to read on.
std::string unknown_words(const CLI::App& app);

}  // namespace tandem::apps
