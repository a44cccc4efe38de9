// SPDX-License-Identifier: Apache-2.0
//
// One anonymous file: the rings first, then the packets.
#include "emulation/protocol/client_area.h"

#include <algorithm>
#include <new>

#include "emulation/protocol/futex.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPacketsOffset =
    (sizeof(ClientState) + kPageBytes - 1) / kPageBytes * kPageBytes;
constexpr uint64_t kAreaBytes = kPacketsOffset + kPacketAreaBytes;

}  // namespace

// A fresh area is all zero, the initial value of every member. Writing them would touch 2 MiB.
ClientArea ClientArea::create() {
  static_assert(static_cast<uint32_t>(EntryState::kFree) == 0);
  return ClientArea(SharedArea::create("tandem-client", kAreaBytes));
}

ClientArea ClientArea::adopt(int descriptor) {
  return ClientArea(SharedArea::adopt(descriptor, kAreaBytes));
}

std::byte* ClientArea::packets() const { return memory_.data() + kPacketsOffset; }

void ClientArea::announce() const {
  ClientState& client = state();
  client.completions.fetch_add(1);
  if (client.waiters.load() != 0) futex_wake_all(client.completions);
}

bool push_command(Ring& ring, UnitChannel& unit, uint32_t slot, const NewCommand& command) {
  const uint32_t next = ring.submitted.load(std::memory_order_relaxed);
  if (!has_room(ring)) return false;
  RingEntry& entry = ring.entries[next % kRingEntries];
  entry.packet_offset = command.packet_offset;
  entry.packet_bytes = command.packet_bytes;
  entry.fault = command.fault;
  entry.order = command.order;
  entry.call.store(0, std::memory_order_relaxed);
  entry.state.store(EntryState::kQueued, std::memory_order_release);
  ring.submitted.store(next + 1);
  unit.pending[slot / 64].fetch_or(uint64_t{1} << slot % 64);
  ring_bell(unit);
  return true;
}

void ring_bell(UnitChannel& unit) {
  unit.submitted.fetch_add(1);
  if (unit.asleep.load() != 0) futex_wake_all(unit.submitted);
}

uint32_t queued(const UnitChannel& unit) {
  const uint32_t submitted = unit.submitted.load(std::memory_order_relaxed);
  const uint32_t difference = submitted - unit.finished.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(std::max(static_cast<int32_t>(difference), 0));
}

}  // namespace tandem::emulation
