// SPDX-License-Identifier: Apache-2.0
//
// `--config FILE`: a TOML file whose keys are the long options of the subcommand and of the
// program, without their dashes.
//
// Tables only group keys ([kv] kv-memory = "2GiB" equals kv-memory at the top). A list gives an
// option several values. The command line has priority. Messages about mistakes (an unknown key, a
// key given twice, a value that the option refuses) name file and line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tandem::apps {

struct ConfigEntry {
  std::string key;
  std::vector<std::string> words;  // as on a command line: "--port=9000"; empty: a flag that is off
  std::uint32_t line = 0;
  bool of_program = false;
};

struct ConfigFault {
  std::uint32_t line = 0;  // 0: the fault belongs to no line
  std::string text;        // begins with the place, "tandem.toml:3: "
};

struct Config {
  std::string path;
  std::vector<ConfigEntry> entries;  // those without a fault, in the order of the file
  std::vector<ConfigFault> faults;   // in the order of the file
};

// Keys and values. `command` is a subcommand, or the program. `add_commands` adds the program's
// options and subcommands to another program, which runs nothing: every value is parsed alone.
// Throws Error("config", ...) when the file cannot be read or is no TOML.
Config read_config(const CLI::App& command, const std::string& path,
                   const std::function<void(CLI::App&)>& add_commands);

// "tandem.toml:3"; without a line the path.
std::string config_place(const Config& config, std::uint32_t line);

// The arguments, preceded by those of the file, if one is named. Options of the program come before
// all words, because the user may place them before the subcommand. Throws Error("config", ...) for
// the file's first fault.
std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments,
                                          const std::function<void(CLI::App&)>& add_commands);

}  // namespace tandem::apps
