// SPDX-License-Identifier: Apache-2.0
//
// The modelled time of a command (TANDEM_TIME=model), at the end of its packet's 4096 bytes. XRT
// uses no packet that long.
//
// The card writes it before the packet's state, so a process that sees the end of the command also
// sees the time. Threads: a packet has one writer at a time.
#pragma once

#include <cstdint>
#include <cstring>

namespace tandem::emulation {

constexpr uint64_t kTimedPacketBytes = 4096;

struct ModelledTime {
  uint64_t mark = 0;
  uint64_t nanoseconds = 0;
};
constexpr uint64_t kModelledTimeMark = 0x7461'6e64'656d'7573;

// Does nothing if the packet is shorter.
inline void put_modelled_time(uint32_t* packet, uint64_t packet_bytes, uint64_t nanoseconds) {
  if (packet_bytes < kTimedPacketBytes) return;
  const ModelledTime time{kModelledTimeMark, nanoseconds};
  std::memcpy(packet + (kTimedPacketBytes - sizeof(time)) / 4, &time, sizeof(time));
}

// Returns the modelled time in nanoseconds of a packet of kTimedPacketBytes; 0: the packet has
// none.
inline uint64_t modelled_time(const void* packet) {
  ModelledTime time;
  std::memcpy(&time, static_cast<const char*>(packet) + kTimedPacketBytes - sizeof(time),
              sizeof(time));
  return time.mark == kModelledTimeMark ? time.nanoseconds : 0;
}

}  // namespace tandem::emulation
