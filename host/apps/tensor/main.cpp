// SPDX-License-Identifier: Apache-2.0
//
// Sparse tensors in files: a separate program, because the daemon reads none. Exit codes as those
// of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a device failed.
#include "apps/command_pages.h"
#include "apps/run_program.h"
#include "apps/tensor/tensor_commands.h"

namespace {

namespace apps = tandem::apps;

void add_tensor_program(CLI::App& app) {
  apps::add_tensor(app);
  apps::add_pages(app, TANDEM_VERSION, apps::WrittenPages::kOfCommands);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::main_of({.description = "Describes, converts and measures sparse tensors.",
                        .version = TANDEM_VERSION,
                        .add_commands = add_tensor_program},
                       argc, argv);
}
