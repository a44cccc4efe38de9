// SPDX-License-Identifier: Apache-2.0
//
// The `tandem` command. Exit codes: 0 done, 1 unexpected, 2 bad input (arguments, files), 3 a
// device failed.
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/command_pages.h"
#include "apps/command_words.h"
#include "apps/error_lines.h"
#include "apps/exit_code.h"
#include "apps/external_command.h"
#include "apps/run_program.h"
#include "common/recent_log.h"

namespace tandem::apps {
namespace {

constexpr std::size_t kLogLinesKept = 500;  // for operators of a daemon

void add_commands(CLI::App& app) {
  add_serve(app);
  add_check_config(app);
  add_generate(app);
  add_devices(app);
  add_key(app);
  add_external_commands(app);
  add_pages(app, TANDEM_VERSION, WrittenPages::kAll);
  app.add_subcommand("help", "Show the help of a command: `tandem help serve`");
}

int run(int argc, char** argv) {
  const std::vector<std::string> words = with_help_word({argv + 1, argv + argc});
  run_if_external(words);
  ErrorLines lines;
  const Program program = {
      .description =
          "Tandem runs a language model on compute-rich and memory-rich devices in tandem: "
          "dense layers here, decode attention with its KV cache on FPGA cards or host memory.",
      .version = TANDEM_VERSION,
      .add_commands = add_commands,
      .footer =
          "Start here: `tandem generate --prompt \"Once upon a time\"`, then `tandem serve`."};
  return run_program(program, words, lines.raw());
}

}  // namespace
}  // namespace tandem::apps

int main(int argc, char** argv) {
  tandem::apps::log_to_standard_error();
  tandem::keep_recent_log(tandem::apps::kLogLinesKept);
  return tandem::apps::exit_code_of([&] { return tandem::apps::run(argc, argv); },
                                    tandem::apps::report_error);
}
