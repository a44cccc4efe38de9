// SPDX-License-Identifier: Apache-2.0
//
// The trainer: a separate program, because it links the message-passing libraries and loads
// libtorch. Exit codes as those of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a peer failed.
#include <csignal>
#include <iostream>

#include "apps/exit_code.h"
#include "apps/run_program.h"
#include "apps/train/command.h"
#include "transport/transport_error.h"

namespace apps = tandem::apps;

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of writing, as a full disk is
  apps::log_to_standard_error();
  return apps::exit_code_of(
      [&] {
        try {
          return apps::run_program({.description = "Trains a model on one or more ranks.",
                                    .version = TANDEM_VERSION,
                                    .add_commands = apps::add_train,
                                    .name = apps::called_as(argv)},
                                   {argv + 1, argv + argc}, std::cerr);
        } catch (const tandem::transport::TransportError& error) {
          apps::report_error(error.what());
          return apps::kDeviceFailed;
        }
      },
      apps::report_error);
}
