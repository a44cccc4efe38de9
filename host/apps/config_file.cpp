// SPDX-License-Identifier: Apache-2.0
//
// Reads a TOML configuration with toml++ and turns it into long options.
#include "apps/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "apps/option_names.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

std::string place_of(const std::string& path, std::uint32_t line) {
  return line == 0 ? path : path + ":" + std::to_string(line);
}

// An error of one key; the reader adds the position.
struct KeyFault {
  std::string text;
};

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

// Null if no such key is: options that print and end are none.
const CLI::Option* find_option(const CLI::App& command, const std::string& key) {
  for (const char* none : {"config", "help", "version"}) {
    if (key == none) return nullptr;
  }
  return command.get_option_no_throw("--" + key);
}

class ConfigReader {
 public:
  ConfigReader(const CLI::App& command, std::string path)
      : command_(command), config_{std::move(path), {}, {}} {}

  Config read(const toml::table& table) {
    collect(table);
    std::map<std::string, std::uint32_t> lines;  // lines of the keys
    for (const auto& [at, found] : by_place_) {
      try {
        // Tables only group keys, so a key in two tables is the same key.
        const auto [other, is_new] = lines.emplace(found.first, at.first);
        if (!is_new) {
          throw KeyFault{"'" + found.first + "' is given twice; see " +
                         place_of(config_.path, other->second)};
        }
        config_.entries.push_back(entry(found.first, at.first, *found.second));
      } catch (const KeyFault& fault) {
        config_.faults.push_back({at.first, place_of(config_.path, at.first) + ": " + fault.text});
      }
    }
    return std::move(config_);
  }

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;  // line, column

  void collect(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (const toml::table* group = node.as_table()) {
        collect(*group);
        continue;
      }
      const toml::source_region& at = key.source().begin.line != 0 ? key.source() : node.source();
      by_place_.emplace(Place(at.begin.line, at.begin.column),
                        std::pair(std::string(key.str()), &node));
    }
  }

  ConfigEntry entry(const std::string& key, std::uint32_t line, const toml::node& node) const {
    ConfigEntry entry{key, {}, line, false};
    const CLI::Option* option = find_option(command_, key);
    if (option == nullptr && command_.get_parent() != nullptr) {
      option = find_option(*command_.get_parent(), key);
      entry.of_program = option != nullptr;
    }
    if (option == nullptr) throw KeyFault{unknown(key)};
    entry.words = words(key, *option, node);
    return entry;
  }

  std::string unknown(const std::string& key) const {
    if (key == "config") return "a configuration file cannot name another one with 'config'";
    return "unknown key '" + key + "'" + option_suggestion(command_, key) + " (see `tandem " +
           command_.get_name() + " --help`)";
  }

  static std::vector<std::string> words(const std::string& key, const CLI::Option& option,
                                        const toml::node& node) {
    const bool is_switch = option.get_expected_max() == 0;
    if (const auto* flag = node.as_boolean()) {
      if (!is_switch) throw KeyFault{"'" + key + "' takes a value, not a boolean"};
      if (!flag->get()) return {};
      return {"--" + key};
    }
    if (is_switch) throw KeyFault{"'" + key + "' is a switch; write true or false"};
    const toml::array* list = node.as_array();
    if (list == nullptr) return {word(key, node)};
    if (option.get_expected_max() == 1) throw KeyFault{"'" + key + "' takes one value, not a list"};
    std::vector<std::string> result;
    for (const toml::node& each : *list) result.push_back(word(key, each));
    return result;
  }

  static std::string word(const std::string& key, const toml::node& node) {
    const std::string value = value_text(node);
    if (value.empty() && !node.is_string()) {
      throw KeyFault{"'" + key + "' must be a string, number or boolean"};
    }
    return "--" + key + "=" + value;
  }

  const CLI::App& command_;
  Config config_;
  std::map<Place, std::pair<std::string, const toml::node*>> by_place_;
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

// Takes the entries whose values the options refuse out of the config.
void check_values(Config& config, const std::string& command,
                  const std::function<void(CLI::App&)>& add_commands) {
  CLI::App program;
  add_commands(program);
  program.require_subcommand(0, 1);
  program.get_subcommand(command)->parse_complete_callback([] { throw ValuesAreRight(); });
  std::erase_if(config.entries, [&](const ConfigEntry& entry) {
    if (entry.words.empty()) return false;
    std::vector<std::string> words(entry.words.rbegin(), entry.words.rend());  // as CLI11 has them
    if (!entry.of_program) words.push_back(command);
    try {
      program.parse(words);
    } catch (const ValuesAreRight&) {
    } catch (const CLI::RequiredError&) {  // another option, which the command line may give
    } catch (const CLI::ParseError& error) {
      config.faults.push_back({entry.line, config_place(config, entry.line) + ": " + error.what()});
      return true;
    }
    return false;
  });
  std::ranges::stable_sort(config.faults, {}, &ConfigFault::line);
}

}  // namespace

std::string config_place(const Config& config, std::uint32_t line) {
  return place_of(config.path, line);
}

Config read_config(const CLI::App& command, const std::string& path,
                   const std::function<void(CLI::App&)>& add_commands) {
  std::ifstream file(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("config", "'" + path + "' is a folder; name a TOML file");
  }
  if (!file) throw Error("config", "cannot read '" + path + "'");
  toml::table table;
  try {
    table = toml::parse(file, path);
  } catch (const toml::parse_error& error) {
    throw Error("config", place_of(path, error.source().begin.line) + ": " +
                              std::string(error.description()));
  }
  Config config = ConfigReader(command, path).read(table);
  check_values(config, command.get_name(), add_commands);
  return config;
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
  const Config config = read_config(*command, path, add_commands);
  if (!config.faults.empty()) throw Error("config", config.faults.front().text);
  std::vector<std::string> result;
  const auto add = [&](bool of_program) {
    for (const ConfigEntry& entry : config.entries) {
      if (entry.of_program != of_program) continue;
      result.insert(result.end(), entry.words.begin(), entry.words.end());
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
