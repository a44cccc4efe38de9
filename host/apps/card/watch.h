// SPDX-License-Identifier: Apache-2.0
//
// `tandem card watch`: shows the emulated cards of this user. It never uses a card. A terminal gets
// a page of its own, and is as before when the command ends, also by SIGINT, SIGTERM and SIGHUP.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

void add_watch(CLI::App& parent);

}  // namespace tandem::apps
