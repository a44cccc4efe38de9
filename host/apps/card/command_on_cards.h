// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on emulated cards: with the environment that setup.sh of their tree gives.
//
// The tree is the one of XILINX_XRT if that has emulated cards, else the one beside this program.
// While the program runs, SIGTERM and SIGHUP go to it, and SIGINT and SIGQUIT are left to it.
// Threads: one call at a time. Errors: Error("card", ...) when there are no emulated cards. A
// program that cannot start ends with 127, and with 126 where setup.sh fails.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/scratch_folder.h"

namespace tandem::apps {

// For ScratchFolder.
constexpr const char* kCardFolder = "tandem-card.";

struct CommandOnCards {
  std::vector<std::string> words;                  // program and arguments
  std::map<std::string, std::string> environment;  // on top of this process' own
  std::string output_file;  // gets both of the program's outputs; empty: they are this process' own
};

// The exit code; 128 + N when signal N ended the program.
int run_on_cards(const CommandOnCards& command);

// Where TANDEM_CARD_SCOPE shares cards between programs, the command gets cards of its own: cards
// that run already keep the report and the settings that they started with. `folder`: of this
// command alone; its name ends with "." and letters.
void use_own_cards(CommandOnCards& command, const ScratchFolder& folder);

}  // namespace tandem::apps
