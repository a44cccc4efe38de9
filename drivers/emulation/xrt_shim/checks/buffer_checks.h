// SPDX-License-Identifier: Apache-2.0
//
// BufferChecks: checks how a program uses its buffers. It marks buffers and syncs in the card's
// memory states, and checks the arguments of each command.
//
// When a command begins, the host copy of each of its buffers is compared with the copy at the last
// sync. Bytes that differ are stale on the device; if a checked kernel reads them, the card reports
// it. host_watch.h finds reads of results without a sync. Cost with sync checks: a second host
// copy, and a comparison per command. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
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

  // `mirrored`: the buffer has a separate host copy, which syncs update.
  void made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored);
  void freed(uint64_t address, uint64_t size_bytes);
  // The host copy of the buffer at `address`. `owns_pages`: the runtime made it.
  void mapped(uint64_t address, std::byte* host, bool owns_pages);
  // Call it before that memory is released.
  void unmapped(uint64_t address);
  // Before and after a sync of [address, +size_bytes) of the buffer at `buffer`.
  void syncing(uint64_t buffer, uint64_t address, uint64_t size_bytes);
  void synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device);
  // Call it instead of synced() if the sync failed.
  void sync_failed(uint64_t buffer, uint64_t address, uint64_t size_bytes);
  // The host wrote device memory directly.
  void written(uint64_t address, uint64_t size_bytes);
  // Device memory was written by a copy from device memory.
  void copied(uint64_t address, uint64_t size_bytes);

  // A command begins on one of `units` with this register map.
  void starting(const Program& program, const std::vector<uint32_t>& units, uint64_t packet_offset,
                const uint32_t* registers, uint64_t num_words);
  // Commands may have ended.
  void finished();

  // Information from the runtime guard, see run_calls.h; `packet` is an offset.
  void run_made(uint64_t packet, bool by_program);
  void run_waited(uint64_t packet);
  void run_timed_out(uint64_t packet);
  void run_told_later(uint64_t packet);
  void argument_set(uint64_t packet, int index, bool is_buffer, uint64_t num_bytes,
                    const char* refusal);
  // The card closes, or the program ends: no run can be waited for any more.
  void ending();
  // Whether a card of this process has checks.
  static bool any();

 private:
  struct HostCopy {
    uint64_t size_bytes = 0;
    std::byte* host = nullptr;
    WatchedCopy* watched = nullptr;
    std::string kernel, argument;   // of the last kernel that used the buffer
    std::vector<std::byte> synced;  // the content at the last sync; empty: zeros
  };
  struct Use {
    std::string argument;
    uint64_t address = 0;
    bool is_read_only = false;  // a pointer to const
    bool held_results = false;  // of an earlier run, when this one began
  };
  static constexpr int kStartFrames = 20;
  struct Started {
    std::string kernel;
    std::vector<Use> uses;
    std::vector<uint32_t> units = {};
    uint64_t order = 0;
    bool is_waited_for = true;  // also if nothing is known of it
    bool has_streams = false;
    bool is_timed_out = false;                          // a wait for it
    std::array<const void*, kStartFrames> frames = {};  // of the start
  };
  // A sync from the device before a wait; see note_early_sync().
  struct EarlySync {
    uint64_t packet = 0;
    std::string kernel, argument;
    uint64_t address = 0, size_bytes = 0;
    CodePlace place;
    bool is_certain = false;
    bool is_timed_out = false;
  };
  static void watch_end();
  void end_sync(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device);
  void report_never_waited(uint64_t packet, const Started& command);
  void report_never_ended(const Started& command);
  void warn_of(const Started& command, HostFinding& finding);
  void note_early_sync(uint64_t address, uint64_t size_bytes);
  void report_early_syncs();
  std::vector<Use> used_buffers(const Program& program, const std::vector<uint32_t>& units,
                                const std::set<size_t>& wrong, const uint32_t* registers,
                                uint64_t num_words);
  HostCopy* find_copy(uint64_t address, uint64_t& begin);
  HostFinding about_argument(uint64_t packet, size_t index) const;
  std::set<size_t> check_arguments(const Program& program, uint32_t unit, uint64_t packet);
  void check_pointer(const Program& program, const std::vector<uint32_t>& units, size_t argument,
                     uint64_t address);
  void mark_stale(uint64_t address);
  void mark_stale(const HostCopy& copy, uint64_t begin, uint64_t offset, uint64_t size_bytes);
  void close_results(const Started& command);
  static void report_read(const EarlyRead& read);
  void report(const char* kind, const std::string& kernel, const std::string& unit,
              const std::string& argument, const std::string& message);

  Card& card_;
  const MemoryStates& states_;
  RunArguments run_arguments_;
  std::mutex mutex_;
  std::map<uint64_t, HostCopy> copies_;  // by device address
  std::map<uint64_t, Started> started_;  // by packet, including commands that have ended
  std::set<uint64_t> told_later_;        // packets of runs that need no wait
  uint64_t num_started_ = 0;
  std::vector<uint64_t> running_;  // packets of started_ whose results are not checked yet
  std::vector<EarlySync> early_syncs_;
  std::set<std::pair<std::string, std::string>>
      written_arguments_;       // kernel, argument: of some run
  std::set<uint64_t> results_;  // buffers that a run may have written since they were last synced
};

}  // namespace tandem::emulation
