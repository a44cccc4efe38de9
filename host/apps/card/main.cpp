// SPDX-License-Identifier: Apache-2.0
//
// The commands about emulated cards and their images: a separate program, because the daemon needs
// none of them. Exit codes as those of `tandem`; a program that runs on cards passes its own on.
#include "apps/card/command.h"
#include "apps/command_pages.h"
#include "apps/run_program.h"

namespace {

namespace apps = tandem::apps;

void add_emulation(CLI::App& app) {
  apps::add_card(app);
  apps::add_xclbin(app);
  apps::add_pages(app, TANDEM_VERSION, apps::WrittenPages::kOfCommands);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::main_of({.description = "Runs programs on emulated cards.",
                        .version = TANDEM_VERSION,
                        .add_commands = add_emulation},
                       argc, argv);
}
