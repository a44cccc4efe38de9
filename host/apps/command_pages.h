// SPDX-License-Identifier: Apache-2.0
//
// Makes manual pages and shell completions from the declared command line, so they always list
// exactly the existing options.
//
// Pure functions of a program's description; threads: any. Formats: man 7 man; bash, "Programmable
// Completion".
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

// The manual page (section 1) of a subcommand, or of the program if `command` is null.
std::string manual_page(const CLI::App& program, const CLI::App* command,
                        const std::string& version);

// A bash script that completes subcommands, options, and the values that an option accepts. For a
// subcommand in another program it reads the --help of that program.
std::string bash_completion(const CLI::App& program);

// Writes DIR/man1/*.1 and DIR/completions/<program>. Throws Error("pages", ...).
void write_pages(const CLI::App& program, const std::string& version, const std::string& directory);

// Adds the hidden subcommand `pages`, which calls write_pages().
void add_pages(CLI::App& program, const std::string& version);

}  // namespace tandem::apps
