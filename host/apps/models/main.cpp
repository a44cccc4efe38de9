// SPDX-License-Identifier: Apache-2.0
//
// Measures and converts models: a separate program, because the daemon needs none of it. Exit codes
// as those of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a device failed.
#include "apps/command_pages.h"
#include "apps/error_lines.h"
#include "apps/exit_code.h"
#include "apps/models/command.h"
#include "apps/run_program.h"

namespace {

namespace apps = tandem::apps;

void add_models(CLI::App& app) {
  apps::add_perplexity(app);
  apps::add_bench(app);
  apps::add_quantize(app);
  apps::add_pages(app, TANDEM_VERSION, apps::WrittenPages::kOfCommands);
}

int run(int argc, char** argv) {
  apps::ErrorLines lines;
  return apps::run_program({.description = "Measures and converts models.",
                            .version = TANDEM_VERSION,
                            .add_commands = add_models,
                            .name = apps::called_as(argv)},
                           {argv + 1, argv + argc}, lines.raw());
}

}  // namespace

int main(int argc, char** argv) {
  apps::log_to_standard_error();
  return apps::exit_code_of([&] { return run(argc, argv); }, apps::report_error);
}
