// SPDX-License-Identifier: Apache-2.0
//
// The `tandem` command. Exit codes: 0 done, 1 unexpected, 2 bad input (arguments, files), 3 a
// device failed.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/command_pages.h"
#include "apps/command_words.h"
#include "apps/config_file.h"
#include "apps/error_lines.h"
#include "apps/exit_code.h"
#include "apps/external_command.h"
#include "apps/option_names.h"
#include "common/error.h"
#include "common/log_event.h"
#include "common/recent_log.h"

namespace tandem::apps {
namespace {

constexpr std::size_t kLogLinesKept = 500;  // for operators of a daemon

void add_commands(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>(help_width()));
  const auto log = std::make_shared<LogOptions>();
  add_program_options(app, *log);
  app.parse_complete_callback([log] {
    spdlog::set_level(spdlog::level::from_str(log->level));
    use_log_format(log->format == "json" ? LogFormat::kJson : LogFormat::kText);
  });
  add_serve(app);
  add_check_config(app);
  add_generate(app);
  add_perplexity(app);
  add_bench(app);
  add_quantize(app);
  add_devices(app);
  add_key(app);
  add_xclbin(app);
  add_card(app);
  add_simulate(app);
  add_balance(app);
  add_map(app);
  add_place(app);
  add_simulate_pipeline(app);
  add_tensor(app);
  add_external_commands(app);
  add_pages(app, TANDEM_VERSION);
  app.add_subcommand("help", "Show the help of a command: `tandem help serve`");
}

int run(const std::vector<std::string>& words, ErrorLines& lines) {
  CLI::App app{
      "Tandem runs a language model on compute-rich and memory-rich devices in tandem: "
      "dense layers here, decode attention with its KV cache on FPGA cards or host memory.",
      "tandem"};
  app.set_version_flag("-v,--version", TANDEM_VERSION);
  app.require_subcommand(1);
  add_commands(app);
  app.footer("Start here: `tandem generate --prompt \"Once upon a time\"`, then `tandem serve`.");
  try {
    std::vector<std::string> arguments = with_config_file(app, words, add_commands);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    throw Error("options", unknown_words(app));
  } catch (const CLI::ParseError& error) {
    const bool is_unknown = app.get_subcommands().empty() && app.remaining_size() > 0;
    if (error.get_exit_code() == 0 && !is_unknown) return app.exit(error, std::cout, lines.raw());
    // A required option is missing when its name is mistyped, so the mistyped name is reported
    // first.
    const bool is_mistyped =
        is_unknown || (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                       app.remaining_size(true) > 0);
    throw Error("options", is_mistyped ? unknown_words(app) : parse_error_text(app, error));
  }
  return 0;
}

// The last line of a log in JSON is JSON as well.
void report_error(const std::string& text) {
  if (log_format() == LogFormat::kText) return print_error(text);
  spdlog::error("tandem: {}", text);
}

}  // namespace
}  // namespace tandem::apps

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("tandem"));
  tandem::keep_recent_log(tandem::apps::kLogLinesKept);
  tandem::use_log_format(tandem::LogFormat::kText);
  return tandem::apps::exit_code_of(
      [&] {
        std::vector<std::string> words = tandem::apps::with_help_word({argv + 1, argv + argc});
        tandem::apps::run_if_external(words);
        tandem::apps::ErrorLines lines;
        return tandem::apps::run(words, lines);
      },
      tandem::apps::report_error);
}
