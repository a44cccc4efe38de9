// SPDX-License-Identifier: Apache-2.0
//
// Reads `--config FILE`: a TOML file whose keys are the long options of the subcommand and of the
// program, without dashes.
//
// Tables only group keys ([kv] kv-memory = "2GiB" equals kv-memory without a table). A list gives
// an option several values. The command line has priority. Messages about mistakes (an unknown key,
// a duplicate key, a value that the option refuses) name file and line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tandem::apps {

struct ConfigEntry {
  std::string key;
  // as on a command line: "--port=9000"; empty: a flag set to false
  std::vector<std::string> words;
  std::uint32_t line = 0;
  bool of_program = false;
};

struct ConfigFault {
  std::uint32_t line = 0;  // 0: no specific line
  std::string text;        // begins with the position, "tandem.toml:3: "
};

struct Config {
  std::string path;
  std::vector<ConfigEntry> entries;  // the valid entries in the order of the file
  std::vector<ConfigFault> faults;   // in the order of the file
};

// Reads keys and values. `command` is a subcommand or the program. `add_commands` adds the
// program's options and subcommands to a second program that runs nothing; it parses every value
// separately. Throws Error("config", ...) if the file cannot be read or is not TOML.
Config read_config(const CLI::App& command, const std::string& path,
                   const std::function<void(CLI::App&)>& add_commands);

// "tandem.toml:3"; without a line only the path.
std::string config_place(const Config& config, std::uint32_t line);

// Returns the arguments of the file that --config names, if any, followed by the given arguments.
// Options of the program come first, because the user may place them before the subcommand. Throws
// Error("config", ...) for the first fault of the file.
std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments,
                                          const std::function<void(CLI::App&)>& add_commands);

}  // namespace tandem::apps
