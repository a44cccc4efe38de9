// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `tandem`. Each function adds one to the command line; its callback runs it.
//
// A callback returns normally on success. Error and DeviceError end the program with codes 2 and 3
// (see main.cpp).
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_serve(CLI::App& app);
void add_check_config(CLI::App& app);
void add_generate(CLI::App& app);
void add_devices(CLI::App& app);
void add_key(CLI::App& app);

}  // namespace tandem::apps
