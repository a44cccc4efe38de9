// SPDX-License-Identifier: Apache-2.0
//
// The `tandem` command. Exit codes: 0 done, 1 unexpected, 2 bad input (arguments, files), 3 a
// device failed.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/config_file.h"
#include "apps/error_lines.h"
#include "apps/exit_code.h"
#include "apps/external_command.h"
#include "apps/option_names.h"
#include "common/error.h"
#include "common/log_event.h"

namespace {

int run(int argc, char** argv, tandem::apps::ErrorLines& lines) {
  CLI::App app{
      "Tandem runs a language model on compute-rich and memory-rich devices in tandem:\n"
      "dense layers here, decode attention with its KV cache on FPGA cards or host memory.",
      "tandem"};
  app.set_version_flag("--version", TANDEM_VERSION);
  app.require_subcommand(1);
  std::string log_level = "info", log_format = "text";
  app.add_option("--log-level", log_level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.fallthrough();
  app.add_option("--log-format", log_format, "text, or json: one object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.parse_complete_callback([&] {
    spdlog::set_level(spdlog::level::from_str(log_level));
    tandem::use_log_format(log_format == "json" ? tandem::LogFormat::kJson
                                                : tandem::LogFormat::kText);
  });
  tandem::apps::add_serve(app);
  tandem::apps::add_generate(app);
  tandem::apps::add_perplexity(app);
  tandem::apps::add_bench(app);
  tandem::apps::add_quantize(app);
  tandem::apps::add_devices(app);
  tandem::apps::add_key(app);
  tandem::apps::add_xclbin(app);
  tandem::apps::add_external_commands(app);
  app.footer("Start here: `tandem generate --prompt \"Once upon a time\"`, then `tandem serve`.");
  try {
    std::vector<std::string> arguments =
        tandem::apps::with_config_file(app, {argv + 1, argv + argc});
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::RequiredError& error) {
    // A required option is missing when its name is mistyped, so the mistyped name is reported
    // first.
    if (app.remaining_size(true) > 0) {
      throw tandem::Error("options", tandem::apps::unknown_words(app));
    }
    app.exit(error, std::cout, lines.raw());
    return tandem::apps::kBadInput;
  } catch (const CLI::ExtrasError&) {
    throw tandem::Error("options", tandem::apps::unknown_words(app));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, std::cout, lines.raw());
    return code == 0 ? 0 : tandem::apps::kBadInput;
  }
  return 0;
}

// The last line of a log in JSON is JSON as well.
void report_error(const std::string& text) {
  if (tandem::log_format() == tandem::LogFormat::kText) return tandem::apps::print_error(text);
  spdlog::error("tandem: {}", text);
}

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("tandem"));
  tandem::use_log_format(tandem::LogFormat::kText);
  return tandem::apps::exit_code_of(
      [&] {
        tandem::apps::run_if_external(argv);
        tandem::apps::ErrorLines lines;
        return run(argc, argv, lines);
      },
      report_error);
}
