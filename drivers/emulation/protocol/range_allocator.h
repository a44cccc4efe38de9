// SPDX-License-Identifier: Apache-2.0
//
// Allocates intervals: of a card's memory, of its peer windows, of a client's packets.
//
// First fit at multiples of 4 KiB, lowest address first. Cost: linear in the number of free pieces.
// Threads: any (one mutex).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace tandem::emulation {

constexpr uint64_t kAllocationGranule = 4096;

class RangeAllocator {
 public:
  RangeAllocator(uint64_t base, uint64_t size_bytes);

  // `size_bytes` (> 0, rounded up to the granule) inside [low, high); empty when there is no
  // room.
  std::optional<uint64_t> allocate(uint64_t size_bytes, uint64_t low, uint64_t high);
  std::optional<uint64_t> allocate(uint64_t size_bytes) {
    return allocate(size_bytes, 0, ~uint64_t{0});
  }
  void release(uint64_t address, uint64_t size_bytes);
  uint64_t free_bytes() const;
  // The largest allocation that fits inside [low, high).
  uint64_t largest_free(uint64_t low, uint64_t high) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // address -> size, never adjacent
  uint64_t free_bytes_ = 0;
};

// `value` rounded up to the allocation granule; 0 when that overflows.
uint64_t round_up_to_granule(uint64_t value);

}  // namespace tandem::emulation
