// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the program `tandem-models`. `tandem` starts this program for them.
//
// Callbacks return normally on success. Errors: Error (code 2), DeviceError (code 3).
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_bench(CLI::App& app);
void add_perplexity(CLI::App& app);
void add_quantize(CLI::App& app);

}  // namespace tandem::apps
