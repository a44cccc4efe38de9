// SPDX-License-Identifier: Apache-2.0
//
// Makes manual pages and shell completions from the declared command line, so they always list
// exactly the existing options.
//
// Pure functions of a program's description; threads: any. Formats: man 7 man; bash, "Programmable
// Completion".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <set>
#include <string>

namespace tandem::apps {

// The manual page (section 1) of a subcommand, or of the program if `command` is null. `elsewhere`:
// the commands in other programs that have a page.
std::string manual_page(const CLI::App& program, const CLI::App* command,
                        const std::string& version, const std::set<std::string>& elsewhere = {});

// A bash script that completes subcommands, options, and the values that an option accepts. For a
// subcommand in another program it reads the --help of that program.
std::string bash_completion(const CLI::App& program);

// A program with some of the commands of another writes only their pages.
enum class WrittenPages : std::uint8_t { kAll, kOfCommands };

// Writes DIR/man1/<program>-<command>.1 for each command, and unless kOfCommands is given
// DIR/man1/<program>.1 and DIR/completions/<program>. The page of the program names the pages that
// other programs have written before. Throws Error("pages", ...).
void write_pages(const CLI::App& program, const std::string& version, const std::string& directory,
                 WrittenPages pages);

// Adds the hidden subcommand `pages`, which calls write_pages().
void add_pages(CLI::App& program, const std::string& version, WrittenPages pages);

}  // namespace tandem::apps
