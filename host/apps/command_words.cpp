// SPDX-License-Identifier: Apache-2.0
//
// Over CLI11's validators and formatter.
#include "apps/command_words.h"

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "apps/option_form.h"
#include "apps/option_names.h"

namespace tandem::apps {
namespace {

std::optional<double> finite_number(const std::string& text) {
  double value = NAN;
  if (!CLI::detail::lexical_cast(text, value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

CLI::Validator in_range(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return {[=](std::string& text) {
            const auto value = finite_number(text);
            if (value && *value >= least && *value <= most) return std::string();
            return fmt::format("'{}' is not a number from {}", text, range);
          },
          "FLOAT in [" + range + "]"};
}

CLI::Validator positive() {
  return {[](std::string& text) {
            if (finite_number(text).value_or(0) > 0) return std::string();
            return fmt::format("'{}' is not a number above 0", text);
          },
          "POSITIVE"};
}

CLI::Validator not_negative() {
  return {[](std::string& text) {
            if (finite_number(text).value_or(-1) >= 0) return std::string();
            return fmt::format("'{}' is not a number from 0 on", text);
          },
          "NONNEGATIVE"};
}

CLI::Validator count_value() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const std::from_chars_result read = std::from_chars(text.data(), end, value);
            if (read.ptr != end || text.empty()) return "'" + text + "' is not a number from 0";
            return read.ec == std::errc() ? std::string() : "'" + text + "' does not fit 64 bits";
          },
          ""};
}

CLI::Validator size_value() {
  const CLI::AsSizeValue sizes(false);
  return {[sizes](std::string& text) {
            const std::string given = text;
            std::string error = "negative";
            if (given.empty() || given.front() != '-') {
              try {
                error = sizes(text);
              } catch (const CLI::ValidationError&) {
                error = "too large";
              }
            }
            if (error.empty()) return std::string();
            return "'" + given +
                   "' is not a size; write a number of bytes, or one with KiB, MiB or "
                   "GiB, such as 2GiB";
          },
          "SIZE"};
}

CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? "is empty; give a value or leave the option out" : std::string();
          },
          ""};
}

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text == "A subcommand is required") text = "name a command";
  return text + help_hint(app);
}

std::vector<std::string> with_help_word(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  if (arguments.size() > 1) arguments.resize(1);
  arguments.emplace_back("--help");
  return arguments;
}

namespace {

// The first piece of a word that fits `room`, or the whole word.
std::string_view first_piece(std::string_view word, std::size_t room) {
  if (word.size() <= room) return word;
  const std::size_t comma = word.substr(0, room).rfind(',');
  return comma == std::string_view::npos ? word : word.substr(0, comma + 1);
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

void append_wrapped(std::string_view line, std::size_t indent, std::size_t width,
                    std::string& result) {
  std::size_t column = indent;
  const auto begin_line = [&] {
    result += "\n" + std::string(indent, ' ');
    column = indent;
  };
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (column > indent) {
      if (column + 1 + std::min(word.size(), width - indent) > width) {
        begin_line();
      } else {
        result += ' ';
        ++column;
      }
    }
    while (!word.empty()) {
      const std::string_view piece = first_piece(word, width - column);
      result += piece;
      column += piece.size();
      word.remove_prefix(piece.size());
      if (!word.empty()) begin_line();
    }
  }
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    append_wrapped(text.substr(0, end), indent, width, result);
    if (end == std::string_view::npos) return result;
    result += "\n" + std::string(indent, ' ');
    text.remove_prefix(end + 1);
  }
}

std::size_t help_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<std::size_t>(size.ws_col, 60, 120);
}

std::string HelpFormatter::entry(const std::string& name, const std::string& text) const {
  std::string line = wrapped("  " + name, 6, width_);
  line.insert(0, "  ");
  if (text.empty()) return line + "\n";
  const bool is_short = line.find('\n') == std::string::npos && line.size() + 1 < kColumn;
  line += is_short ? std::string(kColumn - line.size(), ' ') : "\n" + std::string(kColumn, ' ');
  return line + wrapped(text, kColumn, width_) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  name.resize(std::min(name.find('{'), name.size()));  // "--no-verify{false}" of a switch
  const std::string value = form_of(*option).value;
  return entry(name + (value.empty() ? "" : " " + value), description_of(*option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(CLI::Formatter::make_description(app), 0, width_) + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? std::string() : wrapped(footer, 0, width_) + "\n";
}

}  // namespace tandem::apps
