// SPDX-License-Identifier: Apache-2.0
//
// Candidates are the options of the named command and those of the program.
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

// An option of the command or of the program.
std::string option_like(const CLI::App& command, std::string_view name, std::string_view dashes) {
  std::vector<std::string_view> names;
  append_names(command, names);
  if (command.get_parent() != nullptr) append_names(*command.get_parent(), names);
  return suggestion(name, names, dashes);
}

std::string command_suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return suggestion(word, names);
}

constexpr std::string_view kDashes = "--";

bool is_option(std::string_view word) {
  return word.size() > kDashes.size() && word.starts_with(kDashes);
}

// word: "--name" or "--name=value"
std::string unknown_option(const CLI::App& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  return "unknown option " + option + option_like(command, option.substr(kDashes.size()), kDashes);
}

// The command that the words name, its subcommand, and so on.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (std::vector<CLI::App*> named = app.get_subcommands(); !named.empty();
       named = named.front()->get_subcommands()) {
    commands.push_back(named.front());
  }
  return commands;
}

}  // namespace

std::string option_suggestion(const CLI::App& command, const std::string& name) {
  return option_like(command, name, {});
}

std::string help_hint(const CLI::App& app) {
  std::string path = (app.get_name().empty() ? "tandem" : app.get_name()) + " ";
  for (const CLI::App* command : named_commands(app)) path += command->get_name() + " ";
  return "; see `" + path + "--help`";
}

std::string unknown_words(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = named_commands(app);
  const std::vector<std::string> words = app.remaining(true);
  if (commands.empty()) {
    const std::string& word = words.front();
    return (is_option(word) ? unknown_option(app, word)
                            : "unknown command '" + word + "'" + command_suggestion(app, word)) +
           help_hint(app);
  }
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : "; ";
    text += is_option(word) ? unknown_option(*commands.back(), word)
                            : "'" + word + "' is not expected here";
  }
  return text + help_hint(app);
}

}  // namespace tandem::apps
