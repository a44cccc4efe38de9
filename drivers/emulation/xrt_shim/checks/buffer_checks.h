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
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emulation/protocol/memory_states.h"
#include "emulation/xrt_shim/checks/host_watch.h"
#include "emulation/xrt_shim/checks/kernel_arguments.h"
#include "emulation/xrt_shim/checks/run_arguments.h"
#include "emulation/xrt_shim/checks/run_order.h"

namespace tandem::emulation {

class Card;
struct HostFinding;
struct Program;

// For questions to a card, since one that hangs gives no answer.
constexpr std::chrono::milliseconds kAnswerTimeout{1'000};

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
  // Device memory was written by a copy of `size_bytes` from device memory.
  void copied(uint64_t to, uint64_t from, uint64_t size_bytes);

  // A command begins on one of `units` with this register map.
  void starting(const Program& program, const std::vector<uint32_t>& units, uint64_t packet_offset,
                const uint32_t* registers, uint64_t num_words);
  // It is put into a unit's ring; `run` without its card. Returns the ticket of its order.
  uint64_t order_of(OrderedRun run, bool may_move);
  // Commands may have ended.
  void finished();
  // The program has read a register of a unit.
  void register_read(uint32_t unit) { RunOrder::instance().show_unit(ordered_card_, unit); }

  // Information from the runtime guard, see run_calls.h; `packet` is an offset.
  void run_made(uint64_t packet, bool by_program);
  void run_waited(uint64_t packet);
  void note_stalled(uint64_t packet);
  void run_timed_out(uint64_t packet);
  void run_told_later(uint64_t packet);
  void run_of_opencl(uint64_t packet);
  void argument_set(uint64_t packet, int index, const GivenArgument& given, const char* refusal);
  const char* why_no_buffer(uint64_t packet, int index) const;
  // OpenCL refused a call for this kernel; false if the card's program does not have it.
  bool call_refused(const std::string& kernel, int argument, const std::string& message);
  // The card closes, or the program ends: no run can be waited for any more.
  void ending();
  // Whether a card of this process has checks.
  static bool any();

 private:
  struct HostCopy {
    uint64_t size_bytes = 0;
    std::byte* host = nullptr;
    bool owns_pages = false;
    bool is_untouched = false;  // nobody has written to it yet, as far as its pages tell
    WatchedCopy* watched = nullptr;
    std::string kernel, argument;   // of the last kernel that used the buffer
    std::vector<std::byte> synced;  // the content that was last compared; empty: zeros
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
    bool is_alone = false;                              // no other unit is there
    bool is_timed_out = false;                          // a wait for it
    bool is_told = false;                               // that the program does not wait for it
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
  // A stream that held more than on hardware when the program had waited for its writer.
  struct StalledStream {
    std::string kernel, unit;
    uint32_t reader = 0;  // a unit
    std::string reader_name, stream;
    uint64_t held = 0, depth = 0;
    CodePlace place;  // of the wait
    std::thread::id thread;
  };
  void reader_starts(const std::vector<uint32_t>& units);
  void report_stalled(const StalledStream& stalled);
  static void watch_end();
  void note_waited(uint64_t packet);
  bool end_sync(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device);
  void end_host_use(uint64_t buffer, uint64_t address, uint64_t size_bytes);
  void report_never_waited(uint64_t packet, const Started& command);
  void report_never_ended(uint64_t packet, const Started& command);
  bool ends_within(std::chrono::milliseconds timeout, uint64_t packet) const;
  std::string waits_of(const Started& command) const;
  void warn_of(const Started& command, HostFinding& finding);
  void note_early_sync(uint64_t address, uint64_t size_bytes, bool is_written);
  void report_early_syncs();
  struct Command {
    const Program& program;
    const std::vector<uint32_t>& units;
    uint64_t packet = 0;
  };
  std::vector<Use> used_buffers(const Command& command, const uint32_t* registers,
                                uint64_t num_words);
  bool is_visible(uint64_t address) const;
  HostCopy* find_copy(uint64_t address, uint64_t& begin);
  std::optional<KernelArgument> argument_at(uint64_t packet, size_t index,
                                            std::string& kernel) const;
  std::set<size_t> check_arguments(const Program& program, uint32_t unit, uint64_t packet);
  void check_pointer(const Command& command, size_t argument, uint64_t address);
  void check_bank(const Command& command, size_t argument, uint64_t address);
  void mark_stale(uint64_t address);
  void mark_stale(HostCopy& copy, uint64_t begin, uint64_t offset, uint64_t size_bytes);
  void close_results(const Started& command);
  static void report_read(const EarlyRead& read);
  void report(const char* kind, const std::string& kernel, const std::string& unit,
              const std::string& argument, const std::string& message);

  Card& card_;
  const MemoryStates& states_;
  RunArguments run_arguments_;
  RunOrder& order_ = RunOrder::instance();  // of the process that opened the card
  uint64_t ordered_card_ = 0;               // in it; 0: races are not checked there
  std::mutex mutex_;
  std::map<uint64_t, HostCopy> copies_;   // by device address
  std::map<uint64_t, uint64_t> visible_;  // sizes of buffers that the program sees directly
  std::map<uint64_t, Started> started_;   // by packet, including commands that have ended
  std::set<uint64_t> told_later_;         // packets of runs that need no wait
  uint64_t num_started_ = 0;
  std::atomic<bool> has_ended_{false};  // the program, for this card
  std::vector<uint64_t> running_;       // packets of started_ whose results are not checked yet
  std::vector<EarlySync> early_syncs_;
  std::vector<StalledStream> stalled_;
  std::set<std::pair<std::string, std::string>>
      written_arguments_;       // kernel, argument: of some run
  std::set<uint64_t> results_;  // buffers that a run may have written since they were last synced
};

}  // namespace tandem::emulation
