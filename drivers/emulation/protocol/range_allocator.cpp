// SPDX-License-Identifier: Apache-2.0
//
// Free pieces are kept in address order and merged on release.
#include "emulation/protocol/range_allocator.h"

#include <algorithm>

namespace tandem::emulation {

uint64_t round_up_to_granule(uint64_t value) {
  if (value > ~uint64_t{0} - kAllocationGranule) return 0;
  return (value + kAllocationGranule - 1) / kAllocationGranule * kAllocationGranule;
}

RangeAllocator::RangeAllocator(uint64_t base, uint64_t size_bytes) : free_bytes_(size_bytes) {
  if (size_bytes > 0) free_[base] = size_bytes;
}

std::optional<uint64_t> RangeAllocator::allocate(uint64_t size_bytes, uint64_t low, uint64_t high) {
  const uint64_t size = round_up_to_granule(size_bytes);
  if (size == 0) return std::nullopt;
  std::lock_guard lock(mutex_);
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [address, length] = *piece;
    const uint64_t begin = std::max(address, low);
    const uint64_t end = std::min(address + length, high);
    if (begin >= end || end - begin < size) continue;
    free_.erase(piece);
    if (begin > address) free_[address] = begin - address;
    if (address + length > begin + size) free_[begin + size] = address + length - begin - size;
    free_bytes_ -= size;
    return begin;
  }
  return std::nullopt;
}

void RangeAllocator::release(uint64_t address, uint64_t size_bytes) {
  const uint64_t size = round_up_to_granule(size_bytes);
  std::lock_guard lock(mutex_);
  free_bytes_ += size;
  auto piece = free_.emplace(address, size).first;
  const auto next = std::next(piece);
  if (next != free_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece == free_.begin()) return;
  const auto before = std::prev(piece);
  if (before->first + before->second == piece->first) {
    before->second += piece->second;
    free_.erase(piece);
  }
}

uint64_t RangeAllocator::largest_free(uint64_t low, uint64_t high) const {
  std::lock_guard lock(mutex_);
  uint64_t largest = 0;
  for (const auto& [address, length] : free_) {
    const uint64_t begin = std::max(address, low);
    const uint64_t end = std::min(address + length, high);
    if (begin < end) largest = std::max(largest, end - begin);
  }
  return largest;
}

uint64_t RangeAllocator::free_bytes() const {
  std::lock_guard lock(mutex_);
  return free_bytes_;
}

}  // namespace tandem::emulation
