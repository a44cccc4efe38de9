// SPDX-License-Identifier: Apache-2.0
//
// Candidates are the options of the command that was named and those of the program.
#include "apps/option_names.h"

#include <string_view>
#include <vector>

#include "common/suggestion.h"

namespace tandem::apps {
namespace {

void append_names(const CLI::App& app, std::vector<std::string_view>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
}

std::string command_suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return suggestion(word, names);
}

}  // namespace

std::string option_suggestion(const CLI::App& command, const std::string& name) {
  std::vector<std::string_view> names;
  append_names(command, names);
  if (command.get_parent() != nullptr) append_names(*command.get_parent(), names);
  return suggestion(name, names);
}

std::string unknown_words(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const std::vector<std::string> words = app.remaining(true);
  if (commands.empty()) {
    const std::string& word = words.front();
    return "unknown command '" + word + "'" + command_suggestion(app, word) +
           "; see `tandem --help`";
  }
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : "; ";
    if (word.size() > 2 && word.compare(0, 2, "--") == 0) {
      const std::string name = word.substr(2, word.find('=') - 2);
      text += "unknown option --" + name + option_suggestion(*commands.front(), name);
    } else {
      text += "'" + word + "' is not expected here";
    }
  }
  return text + "; see `tandem " + commands.front()->get_name() + " --help`";
}

}  // namespace tandem::apps
