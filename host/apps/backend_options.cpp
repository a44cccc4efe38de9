// SPDX-License-Identifier: Apache-2.0
//
// From declared keys to CLI11 options and to a list.
#include "apps/backend_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/error.h"

namespace tandem::apps {
namespace {

using device::Backend;
using device::BackendOption;
using device::BackendValues;
using device::OptionType;

CLI::Option* add_option(CLI::App& command, const BackendOption& option, BackendValues& values) {
  const std::string name = "--" + std::string(option.name), help(option.help);
  if (option.type == OptionType::kFlag) {
    const auto set = [&values, &option](bool on) {
      values.set(option.name, on ? "true" : "false");
    };
    return command.add_flag_function(
        name, [set](std::int64_t count) { set(count > 0); }, help);
  }
  const auto set = [&values, &option](const std::string& text) {
    if (!text.empty()) values.set(option.name, text);  // "": the default
  };
  CLI::Option* added = command.add_option_function<std::string>(name, set, help);
  if (option.type == OptionType::kWord) {
    added->check(CLI::IsMember(std::vector<std::string>(option.words.begin(), option.words.end())));
    added->default_str(std::string(option.default_value));
  }
  return added;
}

std::string one_line(const BackendOption& option) {
  std::string text = fmt::format("  --{} ({}", option.name, type_name(option.type));
  for (std::size_t i = 0; i < option.words.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + std::string(option.words[i]);
  }
  text += fmt::format("; default: {}", option.default_value);
  if (!option.environment.empty()) text += fmt::format("; environment: {}", option.environment);
  return text + ")\n      " + std::string(option.help) + "\n";
}

}  // namespace

void add_backend_options(CLI::App& command, Backends backends, BackendValues& values) {
  for (const Backend* backend : backends) {
    for (const BackendOption& option : backend->options()) {
      if (option.use != device::OptionUse::kModel) continue;
      CLI::Option* added = add_option(command, option, values);
      if (!option.environment.empty()) added->envname(std::string(option.environment));
      added->group("Devices");
    }
  }
}

void require_files(Backends backends, const BackendValues& values) {
  for (const Backend* backend : backends) {
    for (const BackendOption& option : backend->options()) {
      if (option.type != OptionType::kFile) continue;
      const auto path = values.find(option);
      if (!path || std::filesystem::is_regular_file(*path)) continue;
      throw Error(std::string(backend->kind()),
                  fmt::format("--{} '{}' is not a file", option.name, *path));
    }
  }
}

std::vector<std::string> unused_options(Backends backends, const BackendValues& values,
                                        const std::vector<std::string>& ids) {
  std::vector<std::string> unused;
  for (const Backend* backend : backends) {
    const auto is_of_kind = [&](const std::string& id) {
      return id.substr(0, id.find(':')) == backend->kind();
    };
    if (std::ranges::any_of(ids, is_of_kind)) continue;
    for (const BackendOption& option : backend->options()) {
      if (option.use == device::OptionUse::kModel && values.find(option)) {
        unused.emplace_back(option.name);
      }
    }
  }
  return unused;
}

std::string options_text(Backends backends) {
  std::string text;
  for (const Backend* backend : backends) {
    text += std::string(backend->kind());
    if (!backend->available()) text += " (not available: " + backend->unavailable_reason() + ")";
    text += backend->options().empty() ? ": no options\n" : ":\n";
    for (const BackendOption& option : backend->options()) text += one_line(option);
  }
  return text;
}

nlohmann::json options_json(Backends backends) {
  nlohmann::json result = nlohmann::json::array();
  for (const Backend* backend : backends) {
    nlohmann::json entry = {{"backend", backend->kind()},
                            {"available", backend->available()},
                            {"reason", backend->unavailable_reason()},
                            {"options", nlohmann::json::array()}};
    for (const BackendOption& option : backend->options()) {
      entry["options"].push_back(
          {{"name", option.name},
           {"type", type_name(option.type)},
           {"default", option.default_value},
           {"words", std::vector<std::string>(option.words.begin(), option.words.end())},
           {"environment", option.environment},
           {"help", option.help}});
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace tandem::apps
