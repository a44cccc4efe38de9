// SPDX-License-Identifier: Apache-2.0
//
// The options that backends declare (device/backend_options.h), on the command line, in the
// configuration file and in `tandem devices --options`.
//
// Threads: pure functions. Errors: Error naming the option.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "device/registry.h"

namespace tandem::apps {

using Backends = std::span<const device::Backend* const>;

// Adds every key for commands that run a model, with its help, in the group "Devices". `values`
// must outlive the command.
void add_backend_options(CLI::App& command, Backends backends, device::BackendValues& values);

// Throws Error if the value of a file option is not an existing file.
void require_files(Backends backends, const device::BackendValues& values);

// Returns the keys that are set although no used device belongs to their backend. `ids`: such as
// "cuda:0".
std::vector<std::string> unused_options(Backends backends, const device::BackendValues& values,
                                        const std::vector<std::string>& ids);

// All keys with type, default and help, and the missing backends with the reason.
std::string options_text(Backends backends);
nlohmann::json options_json(Backends backends);

}  // namespace tandem::apps
