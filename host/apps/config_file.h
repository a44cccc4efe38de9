// SPDX-License-Identifier: Apache-2.0
//
// `--config FILE`: a TOML file whose keys are the long options of the subcommand, without their
// dashes.
//
// Tables only group keys ([kv] kv-memory = "2GiB" equals kv-memory at the top). The command line
// wins. Errors: Error("config", ...) naming file, line and key.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

// The arguments with those of the file, if one is named, placed before the user's own options.
std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments);

}  // namespace tandem::apps
