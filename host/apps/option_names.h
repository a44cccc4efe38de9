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

// The message for words that the parser does not know: it names them and the help to read.
std::string unknown_words(const CLI::App& app);

}  // namespace tandem::apps
