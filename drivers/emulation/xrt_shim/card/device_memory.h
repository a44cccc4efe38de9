// SPDX-License-Identifier: Apache-2.0
//
// Device memory of a card as one application gets it.
//
// An application that shares a card asks the card's process for memory. On a card of its own it
// allocates by itself, as XRT's kernel driver does, so that a card which does not answer takes no
// buffer away; its process is told only of what is lent to others (exported), and has the last word
// on when that is free again. Giving memory back never waits. Threads: any.
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
  // `area`: the memory itself; `is_own`: no other application has the card.
  DeviceMemory(CardProcess& process, const SharedArea& area, const SharedState& shared,
               bool is_own);

  // A piece inside [low, high), or why there is none: a problem, or only `largest_free` bytes.
  struct Piece {
    bool found = false;
    uint64_t address = 0;
    uint64_t largest_free = 0;
    std::string problem;
  };
  Piece allocate(uint64_t size_bytes, uint64_t low, uint64_t high);
  // Gives back an allocation, or a hold that the card gave for an import.
  void release(uint64_t address);
  // An export handle of an allocation, which others find in memory group `group`.
  CardAnswer lend(uint64_t address, uint32_t group);
  uint64_t free_bytes();

 private:
  Piece ask(uint64_t size_bytes, uint64_t low, uint64_t high);
  void reclaim();

  CardProcess& process_;
  const SharedArea& area_;
  const SharedState& shared_;
  const bool is_own_;
  // Of a card of its own:
  RangeAllocator ranges_;
  std::mutex lend_mutex_;              // held while the card is asked
  std::mutex mutex_;                   // held briefly
  std::map<uint64_t, uint64_t> kept_;  // pieces the card does not know: address and size
  std::map<uint64_t, uint64_t> lent_;  // those it has been told of, until it needs them no more
};

}  // namespace tandem::emulation
