// SPDX-License-Identifier: Apache-2.0
//
// DeviceSpace: the address space of a card's kernels. Device memory begins at 0; windows onto
// buffers of other cards (peers) follow after a wide gap.
//
// Pieces are reference-counted. A piece exists while a client, an export handle or another card's
// window holds it; then its memory is returned to the system. A window holds the other card's lease
// (a descriptor) for the same time. Threads: the card's main thread; kernels access the memory
// directly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "emulation/card/memory/card_areas.h"
#include "emulation/protocol/range_allocator.h"

namespace tandem::emulation {

class DeviceSpace {
 public:
  // The address of the first window of a card with `memory_bytes`: far after its memory, so an
  // overrun faults before it reaches a window.
  static uint64_t first_peer_address(uint64_t memory_bytes);
  // Device memory with room for windows after it. Throws std::system_error.
  static SharedArea make_memory(uint64_t memory_bytes);

  // `areas.device` comes from make_memory().
  explicit DeviceSpace(CardAreas& areas);

  // Allocates a piece, which is then held once. Empty when [low, high) has no room for it.
  std::optional<uint64_t> allocate(uint64_t size_bytes, uint64_t low, uint64_t high);
  uint64_t largest_free(uint64_t low, uint64_t high) const;
  // Makes a window onto another card's memory, held once; it then owns both descriptors.
  // Throws std::runtime_error.
  uint64_t map_peer(int memory, uint64_t offset, uint64_t size_bytes, int lease);

  // Requested size of the piece at `address`; 0 when there is none.
  uint64_t size_of(uint64_t address) const;
  // The file that backs the piece at `address`, and its offset in the file.
  std::pair<int, uint64_t> backing(uint64_t address) const;
  void hold(uint64_t address);
  void release(uint64_t address);

 private:
  struct Piece {
    uint64_t size_bytes = 0;
    uint32_t holders = 1;
    int memory = -1;      // of a window
    uint64_t offset = 0;  // of a window, in `memory`
    int lease = -1;       // of a window
  };
  bool is_window(uint64_t address) const { return address >= areas_.device.size_bytes(); }
  void drop_window(uint64_t address, const Piece& piece);

  CardAreas& areas_;
  RangeAllocator memory_;
  RangeAllocator windows_;
  std::map<uint64_t, Piece> pieces_;  // by address
};

}  // namespace tandem::emulation
