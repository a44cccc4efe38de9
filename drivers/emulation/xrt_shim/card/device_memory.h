// SPDX-License-Identifier: Apache-2.0
//
// DeviceMemory: allocates a card's device memory for one application.
//
// On a shared card it asks the card's process. On a private card it allocates by itself, as XRT's
// kernel driver does, so allocation works even if the card does not answer. A private card gets
// requests only for exported (lent) memory, and decides when that memory is free again. release()
// never waits. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "emulation/protocol/range_allocator.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"
#include "emulation/xrt_shim/process/card_process.h"

namespace tandem::emulation {

class DeviceMemory {
 public:
  // `area`: the device memory; `is_own`: no other application uses the card.
  DeviceMemory(CardProcess& process, const SharedArea& area, const SharedState& shared,
               bool is_own);

  // A piece inside [low, high). If none was found: the problem, or the size of the largest free
  // piece.
  struct Piece {
    bool found = false;
    uint64_t address = 0;
    uint64_t largest_free = 0;
    std::string problem;
  };
  Piece allocate(uint64_t size_bytes, uint64_t low, uint64_t high);
  // Frees an allocation, or a hold that the card gave for an import.
  void release(uint64_t address);
  // An export handle of an allocation; importers see it in memory group `group`.
  CardAnswer lend(uint64_t address, uint64_t size_bytes, uint32_t group);
  uint64_t free_bytes();

 private:
  Piece ask(uint64_t size_bytes, uint64_t low, uint64_t high);
  void reclaim();

  CardProcess& process_;
  const SharedArea& area_;
  const SharedState& shared_;
  const bool is_own_;
  // For a private card:
  RangeAllocator ranges_;
  std::mutex lend_mutex_;              // held during a request to the card
  std::mutex mutex_;                   // held briefly
  std::map<uint64_t, uint64_t> kept_;  // pieces that the card does not know of: address and size
  std::map<uint64_t, uint64_t> lent_;  // exported pieces, until no process holds them
};

}  // namespace tandem::emulation
