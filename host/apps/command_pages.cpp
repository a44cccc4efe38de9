// SPDX-License-Identifier: Apache-2.0
//
// Walks CLI11's description of a program.
#include "apps/command_pages.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "apps/option_form.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPages = "pages";

std::vector<const CLI::App*> shown_commands(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

// A subcommand in another program: its options are not known here.
bool is_elsewhere(const CLI::App& command) { return command.get_prefix_command(); }

bool has_page(const CLI::App& command) {
  return !is_elsewhere(command) && command.get_name() != "help";
}

std::string escaped(const std::string& text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    begins_line = c == '\n';
  }
  return result;
}

std::string names_of(const CLI::Option& option) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : ", ") + escaped(name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  return names.empty() ? escaped(option.get_name(true)) : names;
}

// "TEXT:{f16,bf16}" -> "f16 bf16"
std::string words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::string words = type.substr(begin + 1, end - begin - 1);
  for (char& c : words) {
    if (c == ',') c = ' ';
  }
  return words;
}

std::string option_manual(const CLI::Option& option) {
  std::string text = ".TP\n\\fB" + names_of(option) + "\\fR";
  const std::string value = form_of(option).value;
  if (!value.empty()) text += " \\fI" + escaped(value) + "\\fR";
  return text + "\n" + escaped(description_of(option)) + "\n";
}

std::string options_manual(const CLI::App& command) {
  std::string text;
  for (const std::string& group : command.get_groups()) {
    std::string options;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group() == group) options += option_manual(*option);
    }
    if (!options.empty() && !group.empty()) text += ".SS " + escaped(group) + "\n" + options;
  }
  return text;
}

std::string commands_manual(const CLI::App& program) {
  std::string text = ".SH COMMANDS\n";
  for (const CLI::App* each : shown_commands(program)) {
    text += ".TP\n\\fB" + escaped(each->get_name()) + "\\fR\n" + escaped(each->get_description()) +
            "\n";
  }
  return text;
}

// The commands of a command, each with its options.
std::string nested_manual(const CLI::App& command) {
  if (shown_commands(command).empty()) return {};
  std::string text = commands_manual(command);
  for (const CLI::App* each : shown_commands(command)) {
    text += ".SH OPTIONS OF " + escaped(each->get_name()) + "\n" + options_manual(*each);
  }
  return text;
}

std::string options_as_words(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

// A case per option that takes a value: one of some words, or a text or file. `command_name` is
// empty for the options of all commands.
std::string value_cases(const CLI::App& command, const std::string& command_name) {
  std::string cases;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const std::string words = words_of(*option);
    for (const std::string& name : option->get_lnames()) {
      cases +=
          fmt::format("    {}\"{} --{}\") ", command_name.empty() ? "*" : "", command_name, name);
      cases += words.empty() ? "return ;;\n" : fmt::format("words=\"{}\" ;;\n", words);
    }
  }
  return cases;
}

// What bash offers for a command in another program: the values of the option before, or the
// subcommands and options in its help, or in that of the subcommand behind it.
constexpr const char* kWordsOfHelp = R"sh()
      local program=${COMP_WORDS[0]} subcommand=${COMP_WORDS[i+1]}
      if ((i + 1 == COMP_CWORD)) || [[ $subcommand == -* ]]; then subcommand=; fi
      help=$("$program" "$command" $subcommand --help 2>/dev/null ||
             "$program" "$command" --help 2>/dev/null)
      local value='(\{([^}]*)\}|[A-Z]+)'
      if [[ $previous == --* && $help =~ "$previous"[[:space:]]{1,7}$value ]]; then
        words=${BASH_REMATCH[2]//,/ }
        if [ -z "$words" ]; then return; fi
      else
        words="$(sed -nE '/^Subcommands:/,$s/^  ([a-z][a-z-]*) .*/\1/p' <<<"$help")
          $(grep -oE -- '--[a-z][a-z0-9-]*' <<<"$help")"
      fi ;;
)sh";

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Error(kPages, "cannot write '" + path.string() + "'");
}

}  // namespace

std::string manual_page(const CLI::App& program, const CLI::App* command,
                        const std::string& version, const std::set<std::string>& elsewhere) {
  const CLI::App& subject = command == nullptr ? program : *command;
  const std::string dashed =
      program.get_name() + (command == nullptr ? "" : "-" + command->get_name());
  const std::string spoken =
      program.get_name() + (command == nullptr ? "" : " " + command->get_name());
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"tandem {}\" \"User Commands\"\n",
                                 escaped(dashed), escaped(version));
  text += ".SH NAME\n" + escaped(dashed) + " \\- " + escaped(subject.get_description()) + "\n";
  text += ".SH SYNOPSIS\n\\fB" + escaped(spoken) + "\\fR [\\fIOPTIONS\\fR]";
  if (command == nullptr) text += " \\fICOMMAND\\fR ...";
  for (const CLI::Option* option : subject.get_options()) {
    if (option->get_positional()) text += " \\fI" + escaped(option->get_name(true)) + "\\fR";
  }
  text += "\n" + (command == nullptr ? commands_manual(program) : nested_manual(*command));
  text += ".SH OPTIONS\n" + options_manual(subject);
  text += ".SH EXIT STATUS\n0: done. 1: unexpected. 2: bad input. 3: a device or a peer failed.\n";
  if (!subject.get_footer().empty()) text += ".SH NOTES\n" + escaped(subject.get_footer()) + "\n";
  text += ".SH SEE ALSO\n";
  if (command != nullptr) return text + "\\fB" + escaped(program.get_name()) + "\\fR(1)\n";
  std::string others;
  for (const CLI::App* each : shown_commands(program)) {
    if (!has_page(*each) && !elsewhere.contains(each->get_name())) continue;
    others += (others.empty() ? "" : ", ") + std::string("\\fB") +
              escaped(program.get_name() + "-" + each->get_name()) + "\\fR(1)";
  }
  return text + others + "\n";
}

std::string bash_completion(const CLI::App& program) {
  const std::string name = program.get_name();
  const std::string own = options_as_words(program);
  std::string commands, options, values = value_cases(program, ""), elsewhere;
  for (const CLI::App* each : shown_commands(program)) {
    commands += each->get_name() + " ";
    if (is_elsewhere(*each)) {
      elsewhere += (elsewhere.empty() ? "" : "|") + each->get_name();
      continue;
    }
    options += "    " + each->get_name() + ") words=\"" + options_as_words(*each) + own + "\" ;;\n";
    values += value_cases(*each, each->get_name());
  }
  if (!elsewhere.empty()) options += "    " + elsewhere + kWordsOfHelp;
  return "# bash completion of " + name + "; written by the program itself.\n_" + name + R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= help= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case " )" +
         commands + R"(" in
      *" ${COMP_WORDS[i]} "*) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
)" + values +
         R"(  esac
  if [ -z "$words" ]; then
    case "$command" in
    "") words=")" +
         commands + own + R"(" ;;
    help) words=")" +
         commands + R"(" ;;
)" + options +
         R"(    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _)" +
         name + " " + name + "\n";
}

void write_pages(const CLI::App& program, const std::string& version, const std::string& directory,
                 WrittenPages pages) {
  const fs::path manuals = fs::path(directory) / "man1";
  std::set<std::string> elsewhere;
  for (const CLI::App* each : shown_commands(program)) {
    const fs::path path = manuals / (program.get_name() + "-" + each->get_name() + ".1");
    if (has_page(*each)) {
      write(path, manual_page(program, each, version));
    } else if (fs::exists(path)) {
      elsewhere.insert(each->get_name());
    }
  }
  if (pages == WrittenPages::kOfCommands) return;
  write(manuals / (program.get_name() + ".1"), manual_page(program, nullptr, version, elsewhere));
  write(fs::path(directory) / "completions" / program.get_name(), bash_completion(program));
}

void add_pages(CLI::App& program, const std::string& version, WrittenPages pages) {
  CLI::App* command = program.add_subcommand(kPages, "Write manual pages and completions");
  command->group("");  // hidden: a step of the build
  const auto directory = std::make_shared<std::string>();
  command->add_option("directory", *directory, "where to write them")->required();
  command->callback([&program, version, directory, pages] {
    program.name("tandem");  // also where another program writes the pages of its commands
    write_pages(program, version, *directory, pages);
  });
}

}  // namespace tandem::apps
