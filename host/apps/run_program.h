// SPDX-License-Identifier: Apache-2.0
//
// What the programs behind `tandem SUBCOMMAND` have in common: the form of their help, of their
// errors and of their log.
//
// Threads: call from main() only.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tandem::apps {

struct Program {
  std::string description, version;
  // Adds subcommands; --config calls it for a second program that only parses.
  std::function<void(CLI::App&)> add_commands;
  std::string footer = {};
  std::string name = "tandem";  // as help and messages show it
};

// The name by which a program was called: "tandem" starts other programs by its own name.
std::string called_as(char** argv);

// Logs to standard error as text; standard output has only what was asked for.
void log_to_standard_error();

struct LogOptions {
  std::string level = "info", format = "text";
};

// Adds --log-level and --log-format, before or after the subcommand. `options` must outlive `app`.
void add_log_options(CLI::App& app, LogOptions& options);

// Parses `words` (without the name of the program), with those of the file that --config names. The
// log follows its options, then the callback of the subcommand runs. Returns the exit code 0, or
// that of --help, whose text goes to standard output. Throws what the callback throws, and
// Error("options", ...) for wrong words. `errors` receives the text of other endings of the parser.
int run_program(const Program& program, const std::vector<std::string>& words,
                std::ostream& errors);

// The main() of a program without ways of its own: logs to standard error, runs the program, and
// turns an exception into a message and an exit code (exit_code.h).
int main_of(const Program& program, int argc, char** argv);

// Reports the error that ends a program, in the form of its log.
void report_error(const std::string& text);

}  // namespace tandem::apps
