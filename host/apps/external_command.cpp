// SPDX-License-Identifier: Apache-2.0
//
// The program is in the same folder as this one, in the build tree as in an installation.
#include "apps/external_command.h"

#include <unistd.h>

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
constexpr const char* kTrainer = "tandem-train";
constexpr const char* kTracer = "tandem-trace-comm";

struct ExternalCommand {
  const char* program;
  const char* name;
  const char* description;
};

constexpr std::array kCommands = {
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

void run_if_external(std::vector<std::string> words) {
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
