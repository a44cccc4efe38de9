// SPDX-License-Identifier: Apache-2.0
//
// The swap of the entry's state decides between this side and a card that still runs.
#include "emulation/xrt_shim/card/unfinished_commands.h"

#include "emulation/protocol/packet_state.h"

namespace tandem::emulation {

void fail_commands(Ring& ring, const ClientArea& client, uint32_t state) {
  const uint32_t submitted = ring.submitted.load();
  for (uint32_t next = ring.finished.load(); next != submitted; ++next) {
    RingEntry& entry = ring.entries[next % kRingEntries];
    const EntryState before = entry.state.exchange(EntryState::kCancelled);
    const bool finished_before = before == EntryState::kDone || before == EntryState::kCancelled;
    uint32_t* header = client.packet_header(entry.packet_offset);
    if (!finished_before || (*header & 0xF) < ERT_CMD_STATE_COMPLETED) {
      set_packet_state(header, state);
    }
  }
  ring.finished.store(submitted);
}

}  // namespace tandem::emulation
