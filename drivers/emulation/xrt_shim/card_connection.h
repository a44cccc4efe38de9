// SPDX-License-Identifier: Apache-2.0
//
// Getting hold of a card's process: starting one that is this application's own, or joining the one
// that all processes of this user with the same scope share (and starting it when there is none).
//
// Both send `opening`, the "open" request, and return with its answer. Errors: std::runtime_error
// saying what to do; nothing is left behind. Threads: any; a private card ends with the thread that
// started it.
#pragma once

#include <sys/types.h>

#include <string>

#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {

struct CardConnection {
  int socket = -1;
  int process = -1;  // pidfd of the card; -1 when it cannot be had
  bool is_child = false;
  Message opened;
};

CardConnection start_private_card(const std::string& executable, const std::string& opening);
// `name`: of the card's socket, see card_address.h.
CardConnection join_shared_card(const std::string& executable, const std::string& name,
                                const std::string& opening);
// Kills the card's process and, when it is a child, waits for its end. Closes the descriptors.
void end_card(const CardConnection& connection, bool kill);

}  // namespace tandem::emulation
