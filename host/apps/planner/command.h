// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the program `tandem-planner`. `tandem` starts this program for them.
//
// Callbacks return normally on success. Errors: Error (code 2).
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_balance(CLI::App& app);
void add_map(CLI::App& app);
void add_place(CLI::App& app);
void add_simulate(CLI::App& app);
void add_simulate_pipeline(CLI::App& app);

}  // namespace tandem::apps
