// SPDX-License-Identifier: Apache-2.0
//
// Reads a TOML configuration with toml++ and turns it into long options.
#include "apps/config_file.h"

#include <toml++/toml.h>

#include <fstream>
#include <sstream>

#include "apps/option_names.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

[[noreturn]] void fail(const std::string& path, const toml::source_region& at,
                       const std::string& what) {
  throw Error("config", path + ":" + std::to_string(at.begin.line) + ": " + what);
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

void append_options(const CLI::App& command, const std::string& path, const toml::table& table,
                    std::vector<std::string>& arguments) {
  for (const auto& [key, node] : table) {
    if (const toml::table* group = node.as_table()) {
      append_options(command, path, *group, arguments);
      continue;
    }
    const std::string option = "--" + std::string(key.str());
    if (key.str() == "config" || command.get_option_no_throw(option) == nullptr) {
      fail(path, node.source(),
           "unknown key '" + std::string(key.str()) + "'" +
               option_suggestion(command, std::string(key.str())) + " (see `tandem " +
               command.get_name() + " --help`)");
    }
    if (const auto* flag = node.as_boolean()) {
      if (command.get_option(option)->get_expected_max() != 0) {
        fail(path, node.source(), "'" + std::string(key.str()) + "' takes a value, not a boolean");
      }
      if (flag->get()) arguments.push_back(option);
      continue;
    }
    const std::string value = value_text(node);
    if (value.empty() && !node.is_string()) {
      fail(path, node.source(),
           "'" + std::string(key.str()) + "' must be a string, number or boolean");
    }
    arguments.push_back(option + "=" + value);
  }
}

std::string config_path(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].rfind("--config=", 0) == 0) return arguments[i].substr(9);
  }
  return {};
}

}  // namespace

std::vector<std::string> with_config_file(const CLI::App& app,
                                          const std::vector<std::string>& arguments) {
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
  std::ifstream file(path);
  if (!file) throw Error("config", "cannot read '" + path + "'");
  std::vector<std::string> result(arguments.begin(),
                                  arguments.begin() + static_cast<std::ptrdiff_t>(position));
  try {
    append_options(*command, path, toml::parse(file, path), result);
  } catch (const toml::parse_error& error) {
    fail(path, error.source(), std::string(error.description()));
  }
  result.insert(result.end(), arguments.begin() + static_cast<std::ptrdiff_t>(position),
                arguments.end());
  return result;
}

}  // namespace tandem::apps
