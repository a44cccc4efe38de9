// SPDX-License-Identifier: Apache-2.0
//
// Reads a TOML configuration with toml++ and turns it into long options.
#include "apps/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "apps/option_names.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

std::string place_of(const std::string& path, const toml::source_region& at) {
  return path + ":" + std::to_string(at.begin.line);
}

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw Error("config", place + ": " + what);
}

std::string value_text(const toml::node& node) {
  std::ostringstream text;
  if (const auto* value = node.as_string()) {
    text << value->get();
  } else if (const auto* integer = node.as_integer()) {
    text << integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    text.precision(17);
    text << number->get();
  }
  return text.str();
}

// Null where no such key is: options that print and end are none.
const CLI::Option* find_option(const CLI::App& command, const std::string& key) {
  for (const char* none : {"config", "help", "version"}) {
    if (key == none) return nullptr;
  }
  return command.get_option_no_throw("--" + key);
}

class ConfigReader {
 public:
  ConfigReader(const CLI::App& command, std::string path)
      : command_(command), path_(std::move(path)) {}

  void read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (const toml::table* group = node.as_table()) {
        read(*group);
      } else {
        add(std::string(key.str()), key.source().begin.line != 0 ? key.source() : node.source(),
            node);
      }
    }
  }

  // Tables only group keys, so a key in two tables is the same key.
  std::vector<ConfigEntry> entries() const {
    std::vector<ConfigEntry> entries;
    std::map<std::string, std::string> places;  // of the keys
    for (const auto& [line, entry] : by_line_) {
      const auto [other, is_new] = places.emplace(entry.key, entry.place);
      if (!is_new) fail(entry.place, "'" + entry.key + "' is given twice; see " + other->second);
      entries.push_back(entry);
    }
    return entries;
  }

 private:
  void add(const std::string& key, const toml::source_region& at, const toml::node& node) {
    ConfigEntry entry{key, {}, place_of(path_, at), false};
    const CLI::Option* option = find_option(command_, key);
    if (option == nullptr && command_.get_parent() != nullptr) {
      option = find_option(*command_.get_parent(), key);
      entry.of_program = option != nullptr;
    }
    if (option == nullptr) fail(entry.place, unknown(key));
    entry.argument = argument(entry, *option, node);
    by_line_.emplace(std::pair(at.begin.line, at.begin.column), entry);
  }

  std::string unknown(const std::string& key) const {
    if (key == "config") return "a configuration file cannot name another one with 'config'";
    return "unknown key '" + key + "'" + option_suggestion(command_, key) + " (see `tandem " +
           command_.get_name() + " --help`)";
  }

  static std::string argument(const ConfigEntry& entry, const CLI::Option& option,
                              const toml::node& node) {
    const std::string name = "--" + entry.key;
    if (const auto* flag = node.as_boolean()) {
      if (option.get_expected_max() != 0) {
        fail(entry.place, "'" + entry.key + "' takes a value, not a boolean");
      }
      return flag->get() ? name : std::string();
    }
    if (option.get_expected_max() == 0) {
      fail(entry.place, "'" + entry.key + "' is a switch; write true or false");
    }
    const std::string value = value_text(node);
    if (value.empty() && !node.is_string()) {
      fail(entry.place, "'" + entry.key + "' must be a string, number or boolean");
    }
    return name + "=" + value;
  }

  const CLI::App& command_;
  std::string path_;
  std::map<std::pair<toml::source_index, toml::source_index>, ConfigEntry> by_line_;
};

std::string config_path(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].rfind("--config=", 0) == 0) return arguments[i].substr(9);
  }
  return {};
}

// Thrown when the values of a command are parsed, so that it does not run.
struct ValuesAreRight {};

}  // namespace

std::vector<ConfigEntry> read_config(const CLI::App& command, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("config", "cannot read '" + path + "'");
  ConfigReader reader(command, path);
  try {
    reader.read(toml::parse(file, path));
  } catch (const toml::parse_error& error) {
    fail(place_of(path, error.source()), std::string(error.description()));
  }
  return reader.entries();
}

std::vector<std::string> wrong_values(const std::string& command,
                                      const std::vector<ConfigEntry>& entries,
                                      const std::function<void(CLI::App&)>& add_commands) {
  CLI::App program;
  add_commands(program);
  program.require_subcommand(0, 1);
  program.get_subcommand(command)->parse_complete_callback([] { throw ValuesAreRight(); });
  std::vector<std::string> wrong;
  for (const ConfigEntry& entry : entries) {
    if (entry.argument.empty()) continue;
    std::vector<std::string> words = {entry.argument};  // CLI11 takes them from the back
    if (!entry.of_program) words.push_back(command);
    try {
      program.parse(words);
    } catch (const ValuesAreRight&) {
    } catch (const CLI::RequiredError&) {  // another option, which the command line may give
    } catch (const CLI::ParseError& error) {
      wrong.push_back(entry.place + ": " + error.what());
    }
  }
  return wrong;
}

std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments,
                                          const std::function<void(CLI::App&)>& add_commands) {
  const std::string path = config_path(arguments);
  if (path.empty()) return arguments;
  std::size_t position = 0;
  const CLI::App* command = nullptr;
  for (; position < arguments.size() && command == nullptr; ++position) {
    const auto named = [&](const CLI::App* each) {
      return each->get_name() == arguments[position];
    };
    const std::vector<const CLI::App*> found = app.get_subcommands(named);
    if (!found.empty()) command = found.front();
  }
  if (command == nullptr || command->get_option_no_throw("--config") == nullptr) return arguments;
  const std::vector<ConfigEntry> entries = read_config(*command, path);
  const std::vector<std::string> wrong = wrong_values(command->get_name(), entries, add_commands);
  if (!wrong.empty()) throw Error("config", wrong.front());
  std::vector<std::string> result;
  const auto add = [&](bool of_program) {
    for (const ConfigEntry& entry : entries) {
      const bool fits = entry.of_program == of_program && !entry.argument.empty();
      if (fits) result.push_back(entry.argument);
    }
  };
  const auto typed = arguments.begin() + static_cast<std::ptrdiff_t>(position);
  add(true);
  result.insert(result.end(), arguments.begin(), typed);
  add(false);
  result.insert(result.end(), typed, arguments.end());
  return result;
}

}  // namespace tandem::apps
