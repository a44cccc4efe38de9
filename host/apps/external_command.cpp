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

constexpr const char* kCollectives = "tandem-collectives";
constexpr const char* kEmulation = "tandem-emulation";
constexpr const char* kModels = "tandem-models";
constexpr const char* kPlanner = "tandem-planner";
constexpr const char* kTensors = "tandem-tensor";
constexpr const char* kTrainer = "tandem-train";
constexpr const char* kTracer = "tandem-trace-comm";

struct ExternalCommand {
  const char* program;
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
    ExternalCommand{
        kTensors, "tensor",
        "Describe, convert and generate sparse tensors: `tandem tensor features --help`"},
    ExternalCommand{kCollectives, "allreduce-bench",
                    "Measure sparse all-reduce schemes on a transport"},
    ExternalCommand{kCollectives, "simulate-collectives",
                    "The same schemes over a simulated network"},
    ExternalCommand{kCollectives, "sparsify-bench",
                    "What gradient sparsifiers send, and how long they select"},
    ExternalCommand{kCollectives, "stencil", "Measure a tiled stencil against the memory's speed"},
    ExternalCommand{kTrainer, "train", "Train a language model on one or more ranks"},
    ExternalCommand{kTracer, "trace-comm", "Draw who sends how much to whom in a program"},
};

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
  std::size_t command = 0;
  while (command < words.size() && words[command].starts_with("--log-")) {
    command += words[command].find('=') == std::string::npos ? 2 : 1;
  }
  if (command > 0 && command < words.size()) {
    const auto begin = words.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(command),
                begin + static_cast<std::ptrdiff_t>(command) + 1);
  }
  return words;
}

void run_if_external(const std::vector<std::string>& given) {
  std::vector<std::string> words = with_command_first(given);
  for (const ExternalCommand& command : kCommands) {
    if (words.empty() || words.front() != command.name) continue;
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").replace_filename(command.program).string();
    std::vector<char*> arguments = {const_cast<char*>(command.program)};
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    throw Error("tandem", "cannot run " + program + " (" + std::strerror(errno) +
                              "); it comes with Tandem's other programs");
  }
}

}  // namespace tandem::apps
