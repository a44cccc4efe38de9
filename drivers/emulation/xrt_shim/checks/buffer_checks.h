// SPDX-License-Identifier: Apache-2.0
//
// What a program does with its buffers: marks them and their syncs in the card's memory states, and
// looks at the arguments of each command.
//
// A buffer's host copy is compared with what the last sync left there, when a command begins that
// uses the buffer: bytes that differ are stale on the device, and a checked kernel that reads them
// is reported by the card. Cost with checks of syncs: a second host copy, and a comparison per
// command. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "emulation/protocol/memory_states.h"
#include "emulation/xrt_shim/checks/kernel_arguments.h"

namespace tandem::emulation {

class Card;
struct Program;

class BufferChecks {
 public:
  BufferChecks(Card& card, const MemoryStates& states) : card_(card), states_(states) {}

  // `mirrored`: the buffer has a host copy of its own, joined by syncs.
  void made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored);
  void freed(uint64_t address, uint64_t size_bytes);
  // The host copy of the buffer at `address`.
  void mapped(uint64_t address, std::byte* host);
  // After a sync of [address, +size_bytes) of the buffer at `buffer`.
  void synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device);
  // Device memory was written by the host or by a copy.
  void written(uint64_t address, uint64_t size_bytes);

  // A command begins on one of `units`, with this register map.
  void starting(const Program& program, const std::vector<uint32_t>& units, uint64_t packet_offset,
                const uint32_t* registers, uint64_t num_words);

 private:
  struct HostCopy {
    uint64_t size_bytes = 0;
    std::byte* host = nullptr;
    std::vector<std::byte> synced;  // what the last sync left in `host`; empty: zeros
  };
  struct Use {
    std::string argument;
    uint64_t address = 0;
  };
  struct Started {
    std::string kernel;
    std::vector<Use> uses;
  };
  const HostCopy* find_copy(uint64_t address, uint64_t& begin) const;
  void check_pointer(const Program& program, const std::vector<uint32_t>& units, size_t argument,
                     uint64_t address);
  void mark_stale(uint64_t address);
  void report(const char* kind, const std::string& kernel, const std::string& unit,
              const std::string& argument, const std::string& message);

  Card& card_;
  const MemoryStates& states_;
  std::mutex mutex_;
  std::map<uint64_t, HostCopy> copies_;  // by device address
  std::map<uint64_t, Started> started_;  // by packet, also of commands that have ended
};

}  // namespace tandem::emulation
