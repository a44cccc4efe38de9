// SPDX-License-Identifier: Apache-2.0
//
// The program is in the same folder as this one, in the build tree as in an installation.
#include "apps/external_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "common/error.h"

namespace tandem::apps {
namespace {

struct ExternalProgram {
  const char* name;
  const char* component;  // that installs it
};

constexpr ExternalProgram kCollectives{"tandem-collectives", "collectives"};
constexpr ExternalProgram kEmulation{"tandem-emulation", "fpga"};
constexpr ExternalProgram kModels{"tandem-models", "serving"};
constexpr ExternalProgram kPlanner{"tandem-planner", "serving"};
constexpr ExternalProgram kTensors{"tandem-tensor", "serving"};
constexpr ExternalProgram kTrainer{"tandem-train", "training"};
constexpr ExternalProgram kTracer{"tandem-trace-comm", "serving"};

struct ExternalCommand {
  ExternalProgram program;
  const char* name;
  const char* description;
};

constexpr std::array kCommands = {
    ExternalCommand{kModels, "perplexity", "Score how well a model predicts a text"},
    ExternalCommand{kModels, "bench",
                    "Measure prefill and decode of a model against the limits of the machine"},
    ExternalCommand{kModels, "quantize",
                    "Write a model file with its matrices in a smaller type, or pruned"},
    ExternalCommand{kEmulation, "card", "Run programs on emulated cards; show what the cards find"},
    ExternalCommand{kEmulation, "xclbin", "Describe card images (v++ builds them)"},
    ExternalCommand{kPlanner, "simulate",
                    "Serve a load in virtual time on devices that one need not own"},
    ExternalCommand{kPlanner, "balance", "Divide the layers of a model into stages of a pipeline"},
    ExternalCommand{kPlanner, "map", "Map tasks that exchange data onto places with distances"},
    ExternalCommand{kPlanner, "place", "Place the operators of a graph onto devices"},
    ExternalCommand{kPlanner, "simulate-pipeline",
                    "Simulate training of a changing model on balanced and static stages"},
    ExternalCommand{kTensors, "tensor", "Describe, convert, generate and measure sparse tensors"},
    ExternalCommand{kCollectives, "allreduce-bench",
                    "Measure sparse all-reduce schemes on a transport"},
    ExternalCommand{kCollectives, "simulate-collectives",
                    "Compare the schemes over a simulated network"},
    ExternalCommand{kCollectives, "sparsify-bench",
                    "Measure what gradient sparsifiers send, and how long they select"},
    ExternalCommand{kCollectives, "stencil", "Measure a tiled stencil against the memory's speed"},
    ExternalCommand{kTrainer, "train", "Train a language model on one or more ranks"},
    ExternalCommand{kTracer, "trace-comm",
                    "Draw which process of a program sends how much to which other one"},
};

const ExternalCommand* find_command(const std::string& word) {
  const auto found = std::ranges::find(kCommands, word, &ExternalCommand::name);
  return found == kCommands.end() ? nullptr : &*found;
}

// The words that an option of every program takes; 0: it is none.
std::size_t shared_option_words(const std::string& word) {
  if (word == "-h" || word == "--help") return 1;
  if (!word.starts_with("--log-")) return 0;
  return word.find('=') == std::string::npos ? 2 : 1;
}

// Tells how to get a program that is not there.
std::string where_from(const std::filesystem::path& program, const ExternalProgram& known) {
  const std::filesystem::path build = program.parent_path().parent_path();
  if (std::filesystem::exists(build / "CMakeCache.txt")) {
    return "build it with `cmake --build " + build.string() + " --target " + known.name + "`";
  }
  return "install it with `cmake --install BUILD --component " + std::string(known.component) +
         "`, where BUILD is a build tree of Tandem";
}

}  // namespace

void add_external_commands(CLI::App& app) {
  for (const ExternalCommand& command : kCommands) {
    CLI::App* placeholder = app.add_subcommand(command.name, command.description);
    const std::string name = command.name;
    placeholder->prefix_command()->callback([name] {
      throw Error("tandem",
                  name + " is a separate program: name it first, as in tandem " + name + " --help");
    });
  }
}

std::vector<std::string> with_command_first(std::vector<std::string> words) {
  std::size_t at = 0;
  std::string refused;
  while (at < words.size() && words[at].starts_with('-')) {
    if (const std::size_t shared = shared_option_words(words[at]); shared > 0) {
      at += shared;
      continue;
    }
    if (words[at] == "-v" || words[at] == "--version") return words;
    if (refused.empty()) refused = words[at].substr(0, words[at].find('='));
    const bool has_value = words[at].find('=') == std::string::npos && at + 1 < words.size() &&
                           !words[at + 1].starts_with('-') &&
                           find_command(words[at + 1]) == nullptr;
    at += has_value ? 2 : 1;
  }
  const ExternalCommand* command = at < words.size() ? find_command(words[at]) : nullptr;
  if (command == nullptr) return words;
  if (!refused.empty()) {
    throw Error("options", refused + " stands before '" + command->name +
                               "'; write it behind, where the program " + command->program.name +
                               " reads it. Only --log-level, --log-format and --help may stand "
                               "before this command");
  }
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(words.begin(), begin, begin + 1);
  return words;
}

std::string cannot_run(const std::string& path, int error) {
  const std::filesystem::path program = path;
  std::string text = "cannot run " + path + ": " + std::strerror(error);
  const auto known = std::ranges::find_if(kCommands, [&](const ExternalCommand& command) {
    return program.filename() == command.program.name;
  });
  if (error != ENOENT || known == kCommands.end()) return text;
  return text + "; " + where_from(program, known->program);
}

void run_if_external(const std::vector<std::string>& given) {
  std::vector<std::string> words = with_command_first(given);
  const ExternalCommand* command = words.empty() ? nullptr : find_command(words.front());
  if (command == nullptr) return;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe")
                                  .replace_filename(command->program.name)
                                  .string();
  std::string name = "tandem";  // its help then shows the command as the user typed it
  std::vector<char*> arguments = {name.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Error("tandem", cannot_run(program, errno));
}

}  // namespace tandem::apps
