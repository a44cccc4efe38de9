// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the program `tandem-collectives`. `tandem` starts this program for them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

// code: receives the exit code. arguments: the whole command line.
void add_allreduce_bench(CLI::App& app, const std::vector<std::string>& arguments, int& code);
void add_simulate_collectives(CLI::App& app);
void add_sparsify_bench(CLI::App& app);
void add_stencil(CLI::App& app);

}  // namespace tandem::apps
