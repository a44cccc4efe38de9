// SPDX-License-Identifier: Apache-2.0
//
// The state that a card keeps for one client: its connection, its area and the memory that it
// holds.
//
// The destructor closes descriptors only; CardServer releases the rest. Threads: the card's main
// thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "emulation/protocol/client_area.h"

namespace tandem::emulation {

struct Context {
  uint32_t unit = 0;
  bool exclusive = false;
};

// What the client's last request allocated. It is undone if the client does not wait for the
// answer.
struct Grant {
  uint64_t request = 0;  // number of the request
  std::optional<uint64_t> hold;
  std::optional<uint32_t> context;
};

struct Client {
  // Takes ownership of the connection and notes the process at its other end.
  explicit Client(int connection);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sets every command that has not ended to cancelled and rings the bells of their units.
  void cancel_commands(SharedState& shared) const;

  const int socket;
  pid_t id = 0;
  int process = -1;  // readable after the process has ended; -1 if it cannot be watched
  uint32_t slot = 0;
  std::shared_ptr<ClientArea> area;  // null until the client sends "open"
  // address of a piece of the device space -> how often the client holds it
  std::map<uint64_t, uint32_t> holds;
  std::vector<Context> contexts;
  Grant grant;
};

}  // namespace tandem::emulation
