// SPDX-License-Identifier: Apache-2.0
//
// The planners and simulators: a separate program, because the daemon needs none of them. Exit
// codes as those of `tandem`: 0 done, 1 unexpected, 2 bad input.
#include "apps/command_pages.h"
#include "apps/planner/command.h"
#include "apps/run_program.h"

namespace {

namespace apps = tandem::apps;

void add_planners(CLI::App& app) {
  apps::add_balance(app);
  apps::add_map(app);
  apps::add_place(app);
  apps::add_simulate(app);
  apps::add_simulate_pipeline(app);
  apps::add_pages(app, TANDEM_VERSION, apps::WrittenPages::kOfCommands);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::main_of({.description = "Plans and simulates work on several devices.",
                        .version = TANDEM_VERSION,
                        .add_commands = add_planners},
                       argc, argv);
}
