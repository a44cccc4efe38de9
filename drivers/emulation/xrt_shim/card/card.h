// SPDX-License-Identifier: Apache-2.0
//
// Card: one emulated card in an application: memory, loaded bitstream, command rings, and the
// card's process, which several applications may share (TANDEM_CARD_SCOPE).
//
// A card is open while a device handle on it is open. When its process ends, every unfinished
// command is set to ERT_CMD_STATE_ERROR and its waiters wake. Later commands fail at once; other
// cards continue. A forked child cannot use an inherited card and does not disturb it. Cost:
// submit() and wait() make no system call while the other side is awake. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"
#include "bitstreams/xclbin/xclbin_file.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/client_area.h"
#include "emulation/protocol/memory_states.h"
#include "emulation/protocol/range_allocator.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"
#include "emulation/xrt_shim/card/device_memory.h"
#include "emulation/xrt_shim/card/unit_contexts.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/kernel_arguments.h"
#include "emulation/xrt_shim/process/card_process.h"

namespace tandem::emulation {

// The loaded bitstream; its compute units are in XRT's order (by interrupt id).
struct Program {
  std::array<uint8_t, 16> uuid{};
  std::string platform;  // full name of the platform it was built for
  std::vector<xclbin::ComputeUnit> units;
  std::vector<xclbin::Memory> groups;
  std::map<std::string, std::vector<KernelArgument>> arguments;  // by kernel
  // The device addresses that an argument of a unit can reach, by unit and argument; only if banks
  // matter.
  std::map<std::pair<uint32_t, size_t>, std::vector<std::pair<uint64_t, uint64_t>>> reached;
  uint32_t generation = 0;  // number of the load on the card; another application may load later
};

class Card {
 public:
  // Returns the card `index`, for one device handle more; starts it if this process does not have
  // it open. Throws std::exception when it cannot be started.
  static std::shared_ptr<Card> open(uint32_t index);
  // A device handle of open() is closed.
  void handle_closed();
  // The card `index` if this process has it open, else null.
  static std::shared_ptr<Card> find_open(uint32_t index);
  // The open card with this descriptor of device memory.
  static std::optional<uint32_t> index_of_memory(int descriptor);
  // Whether this process has a context on any card.
  static bool any_context();
  static std::vector<std::shared_ptr<Card>> all_open();
  // The number of findings that cards with strict checks have reported to this process.
  static uint64_t strict_findings();

  Card(uint32_t index, const xclbin::Platform& platform);
  ~Card();

  uint32_t index() const { return index_; }
  const xclbin::Platform& platform() const { return platform_; }
  bool failed() const { return failed_.load(); }
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state_.data()); }
  std::byte* device_data() const { return device_.data(); }
  std::byte* packet_data() const { return client_.packets(); }
  ClientState& client_state() const { return client_.state(); }
  RangeAllocator& packet_memory() { return packet_memory_; }
  bool is_own() const { return is_own_; }  // no other application uses it
  bool owned_here() const { return process_->owned_here(); }
  bool has(Check check) const { return (checks_ & check) != 0; }
  // Null if buffers are not checked.
  BufferChecks* buffer_checks() { return buffer_checks_ ? &*buffer_checks_ : nullptr; }
  // The state of a command's packet (ert_cmd_state).
  uint32_t packet_state(uint64_t packet_offset) const;

  // Allocates device memory in memory group `group` of the loaded bitstream (or of the platform's
  // banks). In software emulation it uses any free memory if the group is full. Returns nothing if
  // memory is exhausted; this is reported to the user.
  std::optional<uint64_t> allocate(uint64_t size_bytes, uint32_t group);
  // Returns `group` if arguments of the loaded bitstream are connected to it, otherwise the first
  // group with connections. XRT refuses buffers of groups without connections.
  uint32_t connected_group(uint32_t group) const;
  // Releases a hold on device memory or on a window. Does not wait.
  void release(uint64_t address);
  // An export handle of device memory; importers see it as `size_bytes` of memory of `group`.
  CardAnswer export_memory(uint64_t address, uint64_t size_bytes, uint32_t group);
  uint64_t free_bytes();
  // The memory that this process has allocated: sizes by address.
  std::map<uint64_t, uint64_t> held_memory() const;
  // Ends the card's process by a fault, and returns when its commands have failed: with ABORT after
  // a reset, otherwise with ERROR.
  void end_by_fault(bool is_reset);
  // Any other request to the card's process.
  CardAnswer call(const std::string& request, const std::vector<int>& descriptors = {}) {
    return process_->call(request, descriptors);
  }
  CardAnswer call_within(std::chrono::milliseconds timeout, const std::string& request) {
    return process_->call(request, {}, timeout);
  }

  // Loads a bitstream; keeps the present one when it is the same. Returns the problem, or an empty
  // string.
  std::string load(const xclbin::XclbinFile& file);
  std::shared_ptr<const Program> program() const;
  // Contexts on units (an index, or kWholeBitstream), separate for each handle of this process and,
  // on a shared card, for each process. Returns the problem, or an empty string.
  std::string open_context(const void* handle, uint32_t unit, bool shared);
  // False when the handle has no such context.
  bool close_context(const void* handle, uint32_t unit);
  // Drops all contexts of a handle.
  void close_contexts(const void* handle);

  // Queues the packet at `packet_offset` on the least busy of `units` (indices). Returns an errno
  // value. If the ring is full it waits for room; EBUSY if the unit ends no command for 10 s.
  // ENODEV in a forked child. EDEADLK after a reset, as a real card returns until the device is
  // opened again.
  int submit(const std::vector<uint32_t>& units, uint64_t packet_offset, uint32_t packet_bytes,
             bool by_registers = false);
  // Runs unit `unit` with the arguments in its register map and these bits of the control register
  // (start, auto-restart). Returns an errno value: EBUSY while it runs, that is until it shows
  // `done`.
  int start_from_registers(uint32_t unit, uint32_t control);
  // Sets an unfinished command's packet to ERT_CMD_STATE_ABORT; false when it is not queued or
  // running.
  bool abort(uint64_t packet_offset);
  // Ends a command that needs no unit.
  void complete(uint64_t packet_offset, uint32_t state);
  // Waits until a command ends whose end was not yet reported to the calling thread. Negative
  // timeout: no limit.
  bool wait(std::chrono::milliseconds timeout);
  // Waits until `deadline` for all commands of this process, then sets those that have not ended to
  // ERT_CMD_STATE_ABORT. XRT waits for every command when a program exits, also for one that
  // nothing can end any more.
  void abort_unfinished(std::chrono::steady_clock::time_point deadline);

 private:
  template <typename Visit>
  void visit_unfinished(const Visit& visit);
  std::vector<uint64_t> unfinished_packets();
  struct OpenCards {
    std::mutex mutex;
    std::map<uint32_t, std::weak_ptr<Card>> by_index;
  };
  uint64_t order_of(const std::vector<uint32_t>& units, uint32_t unit, uint64_t packet_offset,
                    uint32_t index);
  bool has_ended(uint32_t unit, uint64_t packet_offset);
  static OpenCards& open_cards();

  // Tag and address interval of a memory group; {"", 0, 0} when unknown.
  struct Group {
    std::string tag;
    uint64_t low = 0, high = 0;
  };
  Group find_group(uint32_t group) const;
  CardConnection connect();
  void adopt(const Message& opened);
  void keep_freed(uint64_t address);
  void append_statistics(const std::string& file) const;
  void on_death();
  std::string describe_death() const;

  const uint32_t index_;
  const xclbin::Platform& platform_;
  const bool is_own_;
  uint32_t num_handles_ = 0;  // guarded by the mutex of OpenCards
  SharedArea state_;
  ClientArea client_;
  SharedArea device_;
  MemoryStates states_;
  uint32_t checks_ = 0;  // bits of Check, as on the card
  std::optional<BufferChecks> buffer_checks_;
  std::atomic<bool> was_reset_{false};
  mutable std::mutex held_mutex_;
  std::map<uint64_t, uint64_t> held_;
  std::mutex freed_mutex_;
  // only with memory checks: freed memory that is not released yet, the oldest first
  std::deque<uint64_t> freed_;
  uint32_t slot_ = 0;  // the slot of this client
  RangeAllocator packet_memory_;
  std::array<std::mutex, kMaxUnits> ring_mutexes_;
  std::mutex register_mutex_;
  std::map<uint32_t, uint64_t> register_packets_;  // by unit: packet of starts through registers
  std::mutex load_mutex_;  // one load at a time: the second finds the first one's program
  mutable std::mutex program_mutex_;
  std::shared_ptr<const Program> program_;
  std::atomic<uint32_t> generation_{0};  // the generation of program_
  UnitContexts contexts_;
  std::atomic<bool> failed_{false};  // set after this client reported the cause
  const uint64_t identity_;
  std::unique_ptr<CardProcess> process_;  // its thread uses the members above
  std::optional<DeviceMemory> memory_;
};

}  // namespace tandem::emulation
