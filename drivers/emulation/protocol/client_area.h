// SPDX-License-Identifier: Apache-2.0
//
// The memory that one client (an application) shares with its card: completion word, command rings,
// and the packets that the rings point to.
//
// The client writes a command packet (the public ERT format) and puts its offset into a unit's
// ring. The unit's thread runs it, writes the packet's state and counts a completion. Both sides
// spin briefly, then sleep on a futex. Threads: the client serialises producers of one ring; its
// consumer is the unit's thread. The side that moves an entry out of kQueued or kRunning by
// compare-and-swap decides the packet's final state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulation/protocol/command_fault.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"
#include "emulation/protocol/start_order.h"

namespace tandem::emulation {

constexpr uint32_t kRingEntries = 1024;  // power of two
constexpr uint64_t kPacketAreaBytes = uint64_t{64} << 20;

enum class EntryState : uint32_t { kFree, kQueued, kRunning, kDone, kCancelled };

struct RingEntry {
  std::atomic<EntryState> state{EntryState::kFree};
  uint32_t packet_bytes = 0;
  uint64_t packet_offset = 0;  // into the client's packets
  CommandFault fault;
  uint64_t order = 0;             // its ticket in the client's orders; 0: none
  std::atomic<uint32_t> call{0};  // of the unit, the last one of this command; 0: not counted
};

struct Ring {
  alignas(64) std::atomic<uint32_t> submitted{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  alignas(64) RingEntry entries[kRingEntries];
};

struct ClientState {
  alignas(64) std::atomic<uint32_t> completions{0};  // futex word of the client's waiters
  alignas(64) std::atomic<uint32_t> waiters{0};
  OrderTable orders;
  Ring rings[kMaxUnits];
};

class ClientArea {
 public:
  ClientArea() = default;
  // The card creates an area per client; the client adopts its descriptor.
  static ClientArea create();
  static ClientArea adopt(int descriptor);

  int descriptor() const { return memory_.descriptor(); }
  ClientState& state() const { return *reinterpret_cast<ClientState*>(memory_.data()); }
  std::byte* packets() const;  // [kPacketAreaBytes]
  // Header of the packet at `offset`, which must be inside the packets.
  uint32_t* packet_header(uint64_t offset) const {
    return reinterpret_cast<uint32_t*>(packets() + offset);
  }
  // Increments the completions and wakes the client's waiters.
  void announce() const;

 private:
  explicit ClientArea(SharedArea memory) : memory_(std::move(memory)) {}

  SharedArea memory_;
};

inline bool has_room(const Ring& ring) {
  return ring.submitted.load(std::memory_order_relaxed) -
             ring.finished.load(std::memory_order_acquire) <
         kRingEntries;
}

struct NewCommand {
  uint64_t packet_offset = 0;
  uint32_t packet_bytes = 0;
  CommandFault fault = {};
  uint64_t order = 0;
};
// Puts a command into `ring` of the client in slot `slot` and rings the unit's bell; false when the
// ring is full.
bool push_command(Ring& ring, UnitChannel& unit, uint32_t slot, const NewCommand& command);
// Makes the unit's thread check for new commands and for the cancellation of its running command.
void ring_bell(UnitChannel& unit);
// The number of commands that wait for the unit or run on it.
uint32_t queued(const UnitChannel& unit);

}  // namespace tandem::emulation
