// SPDX-License-Identifier: Apache-2.0
//
// CommandQueue: the commands of one compute unit. Clients take turns: a client waits for at most
// one command of each other client.
//
// Cost: no system call while commands arrive quickly. Otherwise the thread spins for a moment, then
// sleeps until the unit's bell rings. Threads: next(), begin() and finish() are for the unit's
// thread; busy() for any.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "emulation/card/clients/client_table.h"
#include "emulation/protocol/futex.h"

namespace tandem::emulation {

// A command that its unit runs. The offset of the packet is a copy, because a client may change its
// ring at any time.
struct Command {
  std::shared_ptr<ClientArea> client;
  Ring* ring = nullptr;
  RingEntry* entry = nullptr;
  uint64_t packet_offset = 0;
  uint64_t packet_bytes = 0;
  CommandFault fault;
  uint64_t order = 0;  // its ticket in the client's orders

  // Whether the packet lies inside the client's packets.
  bool has_packet() const {
    return packet_offset % 4 == 0 && packet_offset < kPacketAreaBytes &&
           packet_bytes <= kPacketAreaBytes - packet_offset;
  }
  uint32_t* packet() const { return client->packet_header(packet_offset); }

  // True after the command was aborted or its client died. The unit's bell then rings.
  bool cancelled() const {
    return entry->state.load(std::memory_order_acquire) != EntryState::kRunning;
  }
};

class CommandQueue {
 public:
  CommandQueue(UnitChannel& channel, uint32_t unit, const ClientTable& clients)
      : channel_(channel), unit_(unit), clients_(clients) {}

  // Waits for the next command; empty once `stopping` is set and the bell rings.
  std::optional<Command> next(const std::atomic<bool>& stopping);
  // Marks the command's packet as running; false when the command was cancelled. It must have a
  // packet.
  bool begin(const Command& command);
  // Ends the command. Writes `state` into its packet unless it was cancelled.
  void finish(const Command& command, uint32_t state);
  // Ends all queued commands with an error. Used when a unit accepts no more commands.
  void fail_all();
  bool busy() const;

 private:
  std::optional<Command> take();
  std::optional<Command> take_from(uint32_t slot);
  std::optional<uint32_t> next_slot() const;
  void leave(const Command& command);

  UnitChannel& channel_;
  const uint32_t unit_;
  const ClientTable& clients_;
  std::atomic<bool> running_{false};
  uint32_t last_slot_ = 0;
  AdaptiveSpin spin_;
};

}  // namespace tandem::emulation
