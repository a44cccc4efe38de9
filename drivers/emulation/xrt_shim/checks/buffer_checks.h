// SPDX-License-Identifier: Apache-2.0
//
// What a program does with its buffers: marks them and their syncs in the card's memory states, and
// looks at the arguments of each command.
//
// A buffer's host copy is compared with what the last sync left there, when a command begins that
// uses the buffer: bytes that differ are stale on the device, and a checked kernel that reads them
// is reported by the card. Reads of results that no sync brought are found by host_watch.h. Cost
// with checks of syncs: a second host copy, and a comparison per command. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emulation/protocol/memory_states.h"
#include "emulation/xrt_shim/checks/host_watch.h"
#include "emulation/xrt_shim/checks/kernel_arguments.h"
#include "emulation/xrt_shim/checks/run_arguments.h"

namespace tandem::emulation {

class Card;
struct HostFinding;
struct Program;

class BufferChecks {
 public:
  BufferChecks(Card& card, const MemoryStates& states);
  ~BufferChecks();

  // `mirrored`: the buffer has a host copy of its own, joined by syncs.
  void made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored);
  void freed(uint64_t address, uint64_t size_bytes);
  // The host copy of the buffer at `address`. `owns_pages`: the runtime made it.
  void mapped(uint64_t address, std::byte* host, bool owns_pages);
  // Before that memory is given back.
  void unmapped(uint64_t address);
  // Before and after a sync of [address, +size_bytes) of the buffer at `buffer`.
  void syncing(uint64_t buffer, uint64_t address, uint64_t size_bytes);
  void synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device);
  // Instead of synced().
  void sync_failed(uint64_t buffer, uint64_t address, uint64_t size_bytes);
  // Device memory was written by the host.
  void written(uint64_t address, uint64_t size_bytes);
  // ... or by a copy from device memory.
  void copied(uint64_t address, uint64_t size_bytes);

  // A command begins on one of `units`, with this register map.
  void starting(const Program& program, const std::vector<uint32_t>& units, uint64_t packet_offset,
                const uint32_t* registers, uint64_t num_words);
  // Commands have ended, perhaps.
  void finished();

  // As the runtime guard tells, see run_calls.h; `packet` is an offset.
  void run_made(uint64_t packet, bool by_program);
  void argument_set(uint64_t packet, int index, bool is_buffer, uint64_t num_bytes,
                    const char* refusal);
  // Whether a card of this process has checks.
  static bool any();

 private:
  struct HostCopy {
    uint64_t size_bytes = 0;
    std::byte* host = nullptr;
    WatchedCopy* watched = nullptr;
    std::string kernel, argument;   // of the last kernel that had the buffer
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
  HostCopy* find_copy(uint64_t address, uint64_t& begin);
  HostFinding about_argument(uint64_t packet, size_t index) const;
  std::set<size_t> check_arguments(const Program& program, uint32_t unit, uint64_t packet);
  void check_pointer(const Program& program, const std::vector<uint32_t>& units, size_t argument,
                     uint64_t address);
  void mark_stale(uint64_t address);
  void close_results(const Started& command);
  static void report_read(const EarlyRead& read);
  void report(const char* kind, const std::string& kernel, const std::string& unit,
              const std::string& argument, const std::string& message);

  Card& card_;
  const MemoryStates& states_;
  RunArguments run_arguments_;
  std::mutex mutex_;
  std::map<uint64_t, HostCopy> copies_;  // by device address
  std::map<uint64_t, Started> started_;  // by packet, also of commands that have ended
  std::vector<uint64_t> running_;        // packets of started_ whose results are not looked at yet
};

}  // namespace tandem::emulation
