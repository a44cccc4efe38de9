// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the program `tandem-emulation`. `tandem` starts this program for them.
//
// Callbacks return normally on success. Errors: Error (code 2); ExitStatus with the code of a
// program that ran on the cards.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_card(CLI::App& app);
void add_xclbin(CLI::App& app);

}  // namespace tandem::apps
