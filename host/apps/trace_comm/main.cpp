// SPDX-License-Identifier: Apache-2.0
//
// The tracer of communication: a separate program, because it reads SQLite files and runs other
// programs. Exit codes as those of `tandem`; a traced program's own code is passed on.
#include <iostream>

#include "apps/exit_code.h"
#include "apps/run_program.h"
#include "apps/trace_comm/trace_comm.h"

namespace {

namespace apps = tandem::apps;

int run(int argc, char** argv) {
  int code = 0;
  const auto add_commands = [&](CLI::App& app) { apps::add_trace_comm(app, code); };
  const int parsed = apps::run_program({.description = "Draws who sends how much to whom.",
                                        .version = TANDEM_VERSION,
                                        .add_commands = add_commands,
                                        .name = apps::called_as(argv)},
                                       {argv + 1, argv + argc}, std::cerr);
  return parsed != 0 ? parsed : code;
}

}  // namespace

int main(int argc, char** argv) {
  apps::log_to_standard_error();
  return apps::exit_code_of([&] { return run(argc, argv); }, apps::report_error);
}
