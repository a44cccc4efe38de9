// SPDX-License-Identifier: Apache-2.0
//
// The options that belong to one backend: each backend declares its keys, and the command line, the
// configuration file and `tandem devices --options` follow from the declarations.
//
// A key is declared in a build without its backend, too, so that the words of a command line are
// the same in every build. Values are text. Threads: declarations any; values as their owner.
// Errors: check_values() throws Error naming the key, and the nearest key or the allowed values.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::device {

enum class OptionType {
  kFlag,  // "true" or "false"
  kWord,  // one of BackendOption::words
  kFile   // the path of a file
};

// Which commands accept the option.
enum class OptionUse { kModel, kAggregation, kTraining };

struct BackendOption {
  std::string_view name;  // "cuda-kernels": --cuda-kernels, and the key of the file
  OptionType type = OptionType::kFlag;
  std::string_view help;
  // of a kFile option: a text that describes what is used without it
  std::string_view default_value;
  std::span<const std::string_view> words;  // the allowed values of a kWord option
  std::string_view environment;  // the environment variable that sets the option; may be empty
  OptionUse use = OptionUse::kModel;
};

std::string_view type_name(OptionType type);

class BackendValues {
 public:
  BackendValues() = default;
  BackendValues(std::initializer_list<std::pair<const std::string, std::string>> values)
      : values_(values) {}

  void set(std::string_view name, std::string value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  // The value that was set; none: the backend uses its default.
  std::optional<std::string> find(const BackendOption& option) const;
  // The value of a kWord or a kFlag: the one that was set, else the default.
  std::string word(const BackendOption& option) const;
  bool is_on(const BackendOption& option) const { return word(option) == "true"; }

  const std::map<std::string, std::string, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// `declared`: the options of every backend of the build. Does not check that files exist.
void check_values(const BackendValues& values, std::span<const BackendOption> declared);

}  // namespace tandem::device
