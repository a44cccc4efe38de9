// SPDX-License-Identifier: Apache-2.0
//
// Texts of the command line: checks of values with messages of one line, wrapped help, and one form
// for all errors.
//
// Threads: pure functions, but for help_width().
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::apps {

// A number within both bounds. CLI::Range would print them with six decimals.
CLI::Validator in_range(double least, double most);

// A finite number above 0, or from 0 on. Those of CLI print a bound of 309 digits.
CLI::Validator positive();
CLI::Validator not_negative();

// "512", "4MiB", "2 GB" -> bytes. The message of CLI::AsSizeValue would list every spelling of
// every unit.
CLI::Validator size_value();

// Digits only: CLI11 would make a large number of a negative one.
CLI::Validator count_value();

// Refuses an empty word.
CLI::Validator not_empty();

// The message for a parse error: what is wrong, and the help to read.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

// "help", "help serve" -> "--help", "serve --help". Other words stay.
std::vector<std::string> with_help_word(std::vector<std::string> arguments);

// `text` in lines of at most `width`, all but the first begun by `indent` blanks. A word that is
// longer than a line is cut after a comma, if it has one.
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
