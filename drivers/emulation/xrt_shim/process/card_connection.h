// SPDX-License-Identifier: Apache-2.0
//
// Getting hold of a card's process: starting one that is this application's own, or joining the one
// that all processes of this user with the same scope share (and starting it when there is none).
//
// Both send `opening`, the "open" request, and return with its answer. Errors: std::runtime_error
// saying what to do; nothing is left behind. A private card lives by a pipe: when the application's
// end of it closes, however that ends, the kernel kills the card. Forked children keep neither that
// end nor the socket. Threads: any.
#pragma once

#include <string>

#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {

struct CardConnection {
  int socket = -1;
  int process = -1;   // pidfd of the card; -1 when it cannot be had
  int lifeline = -1;  // of an own card
  bool is_own = false;
  Message opened;
};

CardConnection start_private_card(const std::string& executable, const std::string& opening);
// `name`: of the card's socket, see card_address.h.
CardConnection join_shared_card(const std::string& executable, const std::string& name,
                                const std::string& opening);
// Kills the card's process, if it is an own one, and waits for its end. Closes the descriptors.
void end_card(const CardConnection& connection);
// For a forked child, to whom the card does not belong: what it still has of the connection.
void close_inherited(const CardConnection& connection);

}  // namespace tandem::emulation
