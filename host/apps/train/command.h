// SPDX-License-Identifier: Apache-2.0
//
// `tandem train` and `tandem train export`.
//
// Callbacks return normally on success. Errors: Error (code 2), TransportError (code 3).
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_train(CLI::App& app);
// A subcommand of train.
void add_export(CLI::App& train);

}  // namespace tandem::apps
