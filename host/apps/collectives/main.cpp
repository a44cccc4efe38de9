// SPDX-License-Identifier: Apache-2.0
//
// The collectives tools: a separate program, because it links the message-passing libraries. Exit
// codes as those of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a device or a peer failed.
#include <iostream>

#include "apps/collectives/command.h"
#include "apps/exit_code.h"
#include "apps/run_program.h"
#include "transport/transport_error.h"

namespace {

namespace apps = tandem::apps;

int run(int argc, char** argv) {
  int code = 0;
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto add_commands = [&](CLI::App& app) {
    apps::add_allreduce_bench(app, arguments, code);
    apps::add_simulate_collectives(app);
    apps::add_sparsify_bench(app);
    apps::add_stencil(app);
  };
  const int parsed = apps::run_program({.description = "Measures and simulates sparse collectives.",
                                        .version = TANDEM_VERSION,
                                        .add_commands = add_commands,
                                        .name = apps::called_as(argv)},
                                       {argv + 1, argv + argc}, std::cerr);
  return parsed != 0 ? parsed : code;
}

}  // namespace

int main(int argc, char** argv) {
  apps::log_to_standard_error();
  return apps::exit_code_of(
      [&] {
        try {
          return run(argc, argv);
        } catch (const tandem::transport::TransportError& error) {
          apps::report_error(error.what());
          return apps::kDeviceFailed;
        }
      },
      apps::report_error);
}
