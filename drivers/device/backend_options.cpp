// SPDX-License-Identifier: Apache-2.0
//
// Reads the values of backend options, and makes the errors for wrong ones.
#include "device/backend_options.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "common/suggestion.h"

namespace tandem::device {
namespace {

constexpr std::array<std::string_view, 2> kFlagWords = {"true", "false"};

void check_word(const BackendOption& option, const std::string& value) {
  if (option.type == OptionType::kFile) return;
  const std::span<const std::string_view> words =
      option.type == OptionType::kFlag ? std::span<const std::string_view>(kFlagWords)
                                       : option.words;
  if (std::ranges::find(words, value) != words.end()) return;
  std::string allowed;
  for (const std::string_view word : words)
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  throw Error("device",
              std::string(option.name) + " cannot be '" + value + "'; use one of: " + allowed);
}

}  // namespace

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::kFlag:
      return "flag";
    case OptionType::kWord:
      return "word";
    case OptionType::kFile:
      return "file";
  }
  return "";
}

std::optional<std::string> BackendValues::find(const BackendOption& option) const {
  const auto entry = values_.find(option.name);
  if (entry == values_.end()) return std::nullopt;
  return entry->second;
}

std::string BackendValues::word(const BackendOption& option) const {
  return find(option).value_or(std::string(option.default_value));
}

void check_values(const BackendValues& values, std::span<const BackendOption> declared) {
  for (const auto& [name, value] : values.all()) {
    const auto option = std::ranges::find(declared, name, &BackendOption::name);
    if (option != declared.end()) {
      check_word(*option, value);
      continue;
    }
    std::vector<std::string_view> names;
    for (const BackendOption& each : declared) names.push_back(each.name);
    throw Error("device", "no backend has the option '" + name + "'" + suggestion(name, names) +
                              "; see `tandem devices --options`");
  }
}

}  // namespace tandem::device
