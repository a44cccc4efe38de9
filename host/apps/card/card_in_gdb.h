// SPDX-License-Identifier: Apache-2.0
//
// `tandem card run --gdb KERNEL`: each card of the program is started by gdb, with a breakpoint in
// the kernel. Commands come from the standard input; a terminal also gets the source window.
//
// Errors: Error("card", ...) if gdb is not installed. Threads: one.
#pragma once

#include <string>

#include "apps/card/command_on_cards.h"

namespace tandem::apps {

// Empty if `place` is the name of a function or FILE:LINE.
std::string gdb_place_problem(const std::string& place);
// The text of the script that takes the place of tandem-card. `with_source`: in a window.
std::string card_in_gdb_script(const std::string& place, bool with_source);
// The kernels run as they were compiled, without the copies for checks, unless the user's
// environment asks for these. `folder`: for the script; it lives as long as the command.
void start_cards_in_gdb(CommandOnCards& command, const std::string& place,
                        const ScratchFolder& folder);

}  // namespace tandem::apps
