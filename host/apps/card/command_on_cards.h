// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on emulated cards, with the environment that their setup.sh sets.
//
// The emulated cards are those of XILINX_XRT if it names some, otherwise those installed beside
// this program. While the program runs, SIGTERM and SIGHUP are forwarded to it; SIGINT and SIGQUIT
// are ignored here, because a terminal also sends them to the program. Threads: one call at a time.
// Errors: Error("card", ...) if there are no emulated cards. The exit code is 127 if the program
// cannot start, and 126 if setup.sh fails.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/scratch_folder.h"

namespace tandem::apps {

// The name prefix for ScratchFolder.
constexpr const char* kCardFolder = "tandem-card.";

struct CommandOnCards {
  std::vector<std::string> words;                  // program and arguments
  std::map<std::string, std::string> environment;  // added to this process' environment
  // receives standard output and standard error; empty: they are shared with this process
  std::string output_file;
};

// Returns the exit code; 128 + N if signal N ended the program.
int run_on_cards(const CommandOnCards& command);

// Gives the command its own cards if TANDEM_CARD_SCOPE shares cards between programs. Cards that
// already run would keep the report and settings that they started with. `folder` belongs to this
// command only; its name ends with "." and letters.
void use_own_cards(CommandOnCards& command, const ScratchFolder& folder);

}  // namespace tandem::apps
