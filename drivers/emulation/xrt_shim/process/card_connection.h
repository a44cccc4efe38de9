// SPDX-License-Identifier: Apache-2.0
//
// Connects to a card's process: starts one for this application only, or joins the one that all
// processes of this user with the same scope share (and starts it if there is none).
//
// Both functions send `opening`, the "open" request, and return with its answer. Errors:
// std::runtime_error with advice; no process or descriptor remains. A private card depends on a
// pipe: when the application's end closes, the kernel kills the card. Forked children keep neither
// that end nor the socket. Threads: any.
#pragma once

#include <string>

#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {

struct CardConnection {
  int socket = -1;
  int process = -1;   // pidfd of the card; -1 when the system gives none
  int lifeline = -1;  // the application's end of a private card's pipe; -1 for a shared card
  bool is_own = false;
  Message opened;
};

CardConnection start_private_card(const std::string& executable, const std::string& opening);
// `name`: the name of the card's socket, see card_address.h.
CardConnection join_shared_card(const std::string& executable, const std::string& name,
                                const std::string& opening);
// Kills the process of a private card and waits for its end. Closes the descriptors.
void end_card(const CardConnection& connection);
// Call it in a forked child, which does not own the card: closes its remaining descriptors of the
// connection.
void close_inherited(const CardConnection& connection);

}  // namespace tandem::emulation
