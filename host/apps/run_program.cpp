// SPDX-License-Identifier: Apache-2.0
//
// CLI11 parses; its exceptions become the messages of this project.
#include "apps/run_program.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "apps/command_words.h"
#include "apps/config_file.h"
#include "apps/exit_code.h"
#include "apps/option_names.h"
#include "common/error.h"
#include "common/log_event.h"

namespace tandem::apps {

void log_to_standard_error() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("tandem"));
  use_log_format(LogFormat::kText);
}

void add_log_options(CLI::App& app, LogOptions& options) {
  constexpr auto kLast = CLI::MultiOptionPolicy::TakeLast;  // a configuration file comes first
  app.add_option("--log-level", options.level,
                 "write messages of this level and above to standard error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->multi_option_policy(kLast)
      ->capture_default_str();
  app.add_option("--log-format", options.format,
                 "form of the log: lines of text, or one JSON object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->multi_option_policy(kLast)
      ->capture_default_str();
  app.fallthrough();
}

namespace {

void follow_log_options(CLI::App& app) {
  const auto log = std::make_shared<LogOptions>();
  add_log_options(app, *log);
  app.parse_complete_callback([log] {
    spdlog::set_level(spdlog::level::from_str(log->level));
    use_log_format(log->format == "json" ? LogFormat::kJson : LogFormat::kText);
  });
}

}  // namespace

int run_program(const Program& program, const std::vector<std::string>& words,
                std::ostream& errors) {
  CLI::App app{program.description, program.name};
  app.set_version_flag("-v,--version", program.version);
  app.formatter(std::make_shared<HelpFormatter>(help_width()));
  app.require_subcommand(1);
  const auto add_all = [&](CLI::App& each) {
    follow_log_options(each);
    program.add_commands(each);
  };
  add_all(app);
  app.footer(program.footer);
  try {
    std::vector<std::string> arguments = with_config_file(app, words, add_all);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    throw Error("options", unknown_words(app));
  } catch (const CLI::ParseError& error) {
    const bool is_unknown = app.get_subcommands().empty() && app.remaining_size() > 0;
    if (error.get_exit_code() == 0 && !is_unknown) return app.exit(error, std::cout, errors);
    // A required option is missing when its name is mistyped, so the mistyped name is reported
    // first.
    const bool is_mistyped =
        is_unknown || (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                       app.remaining_size(true) > 0);
    throw Error("options", is_mistyped ? unknown_words(app) : parse_error_text(app, error));
  }
  return 0;
}

int main_of(const Program& program, int argc, char** argv) {
  log_to_standard_error();
  Program called = program;
  called.name = called_as(argv);
  return exit_code_of(
      [&] {
        return run_program(called, {argv + 1, argv + argc}, std::cerr);
      },
      report_error);
}

std::string called_as(char** argv) { return std::filesystem::path(argv[0]).filename().string(); }

// The last line of a log in JSON is JSON as well, also where the log is off.
void report_error(const std::string& text) {
  if (log_format() == LogFormat::kText) return print_error(text);
  if (!spdlog::should_log(spdlog::level::err)) spdlog::set_level(spdlog::level::err);
  spdlog::error("tandem: {}", text);
}

}  // namespace tandem::apps
