// SPDX-License-Identifier: Apache-2.0
//
// One emulated card as the application sees it: memory, loaded bitstream, command rings, and the
// process behind them.
//
// A card lives while a device handle on it is open. When its process ends, every unfinished command
// is set to ERT_CMD_STATE_ERROR, waiters wake, and later commands fail the same way at once; other
// cards go on. Cost: submit() and wait() make no system call while the other side is awake.
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bitstreams/platform.h"
#include "bitstreams/xclbin_file.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"
#include "emulation/xrt_shim/card_process.h"
#include "emulation/xrt_shim/device_memory.h"
#include "emulation/xrt_shim/unit_contexts.h"

namespace tandem::emulation {

// The loaded bitstream: compute units in XRT's order (that of interrupt ids).
struct Program {
  std::array<uint8_t, 16> uuid{};
  std::vector<xclbin::ComputeUnit> units;
  std::vector<xclbin::Memory> groups;
};

class Card {
 public:
  // The card `index`, made when nobody has it open. Throws std::exception when it cannot be
  // started.
  static std::shared_ptr<Card> open(uint32_t index);

  Card(uint32_t index, const xclbin::Platform& platform);
  ~Card();

  uint32_t index() const { return index_; }
  const xclbin::Platform& platform() const { return platform_; }
  bool failed() const { return shared().state.load() == CardState::kFailed; }
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state_.data()); }
  std::byte* device_data() const { return device_.data(); }
  std::byte* packet_data() const { return packets_.data(); }
  RangeAllocator& memory() { return memory_; }
  RangeAllocator& packet_memory() { return packet_memory_; }
  // Gives device memory back; nothing happens in a forked child, whose parent still uses it.
  void release_memory(uint64_t address, uint64_t size_bytes);

  // Address interval of memory group `group` of the loaded bitstream (or of the platform's banks):
  // {0, 0} when unknown.
  std::pair<uint64_t, uint64_t> group_range(uint32_t group) const;

  // Loads a bitstream; keeps the present one when it is the same. Empty, or what went wrong.
  std::string load(const xclbin::XclbinFile& file);
  std::shared_ptr<const Program> program() const;
  UnitContexts& contexts() { return contexts_; }

  // Queues the packet at `packet_offset` on the least busy of `units` (indices). An errno value:
  // EBUSY when the ring is full.
  int submit(const std::vector<uint32_t>& units, uint64_t packet_offset, uint32_t packet_bytes);
  // Runs unit `unit` with the arguments in its register map and the bits of the control register
  // (start, auto-restart). An errno value: EBUSY while it runs.
  int start_from_registers(uint32_t unit, uint32_t control);
  // Sets an unfinished command's packet to ERT_CMD_STATE_ABORT; false when it is not queued or
  // running.
  bool abort(uint64_t packet_offset);
  // Ends a command that needs no unit.
  void complete(uint64_t packet_offset, uint32_t state);
  // Waits until a command ended that the calling thread has not yet been told of. Negative timeout:
  // for ever.
  bool wait(std::chrono::milliseconds timeout);

 private:
  void append_statistics(const std::string& file) const;
  void on_death();
  std::string describe_death() const;
  void fail_unit(UnitChannel& channel);
  void announce();
  uint32_t* packet_header(uint64_t packet_offset) const;

  const uint32_t index_;
  const xclbin::Platform& platform_;
  SharedArea state_;
  SharedArea packets_;
  SharedArea device_;
  RangeAllocator memory_;
  RangeAllocator packet_memory_;
  std::array<std::mutex, kMaxUnits> ring_mutexes_;
  std::mutex register_mutex_;
  std::map<uint32_t, uint64_t> register_packets_;  // by unit: packet of starts through registers
  std::mutex load_mutex_;  // one load at a time: the second finds the first one's program
  mutable std::mutex program_mutex_;
  std::shared_ptr<const Program> program_;
  UnitContexts contexts_;
  const uint64_t identity_;
  std::unique_ptr<CardProcess> process_;  // last: its thread uses the rest
};

}  // namespace tandem::emulation
