// SPDX-License-Identifier: Apache-2.0
//
// Texts of the command line: checks of values with one-line messages, wrapped help, and one format
// for all errors.
//
// Threads: pure functions except help_width().
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::apps {

// Accepts a number within both bounds. CLI::Range prints the bounds with six decimals.
CLI::Validator in_range(double least, double most);

// Accept a finite number above 0, or of at least 0. The validators of CLI11 print a bound of 309
// digits.
CLI::Validator positive();
CLI::Validator not_negative();

// "512", "4MiB", "2 GB" -> bytes. The message of CLI::AsSizeValue lists every spelling of every
// unit.
CLI::Validator size_value();

// Accepts digits only, because CLI11 turns a negative number into a large positive one.
CLI::Validator count_value();

// Refuses an empty word.
CLI::Validator not_empty();

// The message for a parse error: what is wrong, and which --help to read.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

// "help", "help serve" -> "--help", "serve --help". Other arguments are returned unchanged.
std::vector<std::string> with_help_word(std::vector<std::string> arguments);

// Breaks `text` into lines of at most `width`; all lines but the first begin with `indent` blanks.
// A word that is longer than a line is broken after a comma, if it has one.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

// Columns of the terminal, between 60 and 120; 80 without a terminal.
std::size_t help_width();

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) { column_width(kColumn); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  static constexpr std::size_t kColumn = 30;
  std::string entry(const std::string& name, const std::string& text) const;

  std::size_t width_;
};

}  // namespace tandem::apps
