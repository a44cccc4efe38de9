// SPDX-License-Identifier: Apache-2.0
//
// DeviceShadow: the shadow bytes (local_memory.h) of device memory. They tell the kernels' own code
// which accesses need no look, from the states of the bytes.
//
// A byte is known only from the first access to its block until a unit begins a run after a program
// has changed states of the block. Accesses to unknown or mixed bytes are looked at, so a shadow
// byte never causes a finding. Cost: a look at 4 KiB of states per changed block. Errors:
// std::runtime_error. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "emulation/card/checks/local_memory.h"
#include "emulation/protocol/memory_states.h"

namespace tandem::emulation {

// 0: kernels wrote all 8 bytes, and no sync followed. All others are negative.
constexpr int8_t kPlainForLoads = -128;  // all are written and not stale
constexpr int8_t kMixedStates = -88;
constexpr int8_t kUnknownStates = kCallDecides;

class DeviceShadow {
 public:
  // `device`: where the `size_bytes` of device memory are mapped; needs map_local_memory().
  DeviceShadow(uint64_t device, uint64_t size_bytes, const MemoryStates& states);
  DeviceShadow(const DeviceShadow&) = delete;
  DeviceShadow& operator=(const DeviceShadow&) = delete;

  // Addresses are device addresses, of the memory.
  bool is_known(uint64_t address) const { return shadow_of(device_ + address) != kUnknownStates; }
  // Makes the block of an address known.
  void look_at_block(uint64_t address);
  // After a kernel's store, which changed the states.
  void stored(uint64_t address, uint64_t size_bytes);
  // Makes the bytes of a range stored ones: states and shadow.
  void store_range(uint64_t address, uint64_t size_bytes);
  // From here on until open() all blocks are unknown.
  void close();
  void open() { is_closed_.store(false); }
  bool is_closed() const { return is_closed_.load(std::memory_order_relaxed); }
  // Makes the pages of the maps of a range, so that the first accesses there take no page faults.
  void map_pages(uint64_t address, uint64_t size_bytes) const;
  // A run begins: forgets the blocks that programs have changed.
  void refresh();

 private:
  static constexpr uint64_t kBlockBytes = kStateBlock;
  struct KnownBlock {
    uint64_t begin = 0;
    uint32_t changes = 0;  // of the states when they were looked at
  };

  void forget_block(uint64_t begin) const;

  const uint64_t device_;
  const uint64_t size_bytes_;
  const MemoryStates& states_;
  std::mutex mutex_;
  std::vector<KnownBlock> known_blocks_;
  std::atomic<bool> is_closed_{false};
  std::atomic<uint64_t> seen_changes_{0};
};

}  // namespace tandem::emulation
