// SPDX-License-Identifier: Apache-2.0
//
// The process is watched besides the socket: a forked child may keep a dead client's socket open.
#include "emulation/card/clients/client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "emulation/protocol/pidfd.h"

namespace tandem::emulation {
namespace {

bool cancel(RingEntry& entry) {
  for (EntryState from : {EntryState::kQueued, EntryState::kRunning}) {
    EntryState expected = from;
    if (entry.state.compare_exchange_strong(expected, EntryState::kCancelled)) return true;
  }
  return false;
}

}  // namespace

Client::Client(int connection) : socket(connection) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0) id = peer.pid;
  if (id > 0) process = pidfd_open(id, 0);
}

Client::~Client() {
  close(socket);
  if (process >= 0) close(process);
}

void Client::cancel_commands(SharedState& shared) const {
  for (uint32_t unit = 0; unit < kMaxUnits; ++unit) {
    Ring& ring = area->state().rings[unit];
    uint32_t next = ring.finished.load();
    // The client writes these counters, so a damaged one must not cost more than one ring.
    const uint32_t submitted = next + std::min(ring.submitted.load() - next, kRingEntries);
    if (next == submitted) continue;
    for (; next != submitted; ++next) cancel(ring.entries[next % kRingEntries]);
    ring_bell(shared.units[unit]);
  }
}

}  // namespace tandem::emulation
