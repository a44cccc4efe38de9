// SPDX-License-Identifier: Apache-2.0
//
// `--config FILE`: a TOML file whose keys are the long options of the subcommand and of the
// program, without their dashes.
//
// Tables only group keys ([kv] kv-memory = "2GiB" equals kv-memory at the top). The command line
// wins. Errors: Error("config", ...) naming file, line and key: an unknown key, a key given twice,
// a value that the option refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace tandem::apps {

struct ConfigEntry {
  std::string key;
  std::string argument;  // as on the command line: "--port=9000"; empty: a flag that is off
  std::string place;     // "tandem.toml:3"
  bool of_program = false;
};

// The entries in the order of the file. `command` is a subcommand, or the program.
std::vector<ConfigEntry> read_config(const CLI::App& command, const std::string& path);

// What is wrong with the values, each text with its place: parses every entry alone. `add_commands`
// adds the program's options and subcommands to another program, which runs nothing.
std::vector<std::string> wrong_values(const std::string& command,
                                      const std::vector<ConfigEntry>& entries,
                                      const std::function<void(CLI::App&)>& add_commands);

// The arguments with those of the file, if one is named, placed before the user's own: those of
// the program before all words, since the user may name them before the subcommand.
std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments,
                                          const std::function<void(CLI::App&)>& add_commands);

}  // namespace tandem::apps
