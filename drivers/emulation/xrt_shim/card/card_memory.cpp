// SPDX-License-Identifier: Apache-2.0
//
// A card's device memory, as an application allocates, releases and exports it.
#include <algorithm>

#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"

namespace tandem::emulation {
namespace {

// With checks of memory: bytes between buffers, and freed buffers that keep their place.
constexpr uint64_t kBufferGap = kAllocationGranule;
constexpr size_t kMostFreed = 64;

}  // namespace

std::optional<uint64_t> Card::allocate(uint64_t size_bytes, uint32_t group) {
  const Group wanted = find_group(group);
  std::vector<std::pair<uint64_t, uint64_t>> places{{wanted.low, wanted.high}};
  if (settings().software_emulation) places.emplace_back(0, platform_.memory_end());
  DeviceMemory::Piece piece;
  piece.problem = at_allocate(*this, size_bytes);
  if (!piece.problem.empty()) places.clear();
  // The first page stays free, so that 0 is no buffer's address.
  if (has(kCheckMemory) && !places.empty())
    places.emplace(places.begin(), std::max(wanted.low, kBufferGap), wanted.high);
  for (const auto& [low, high] : places) {
    if (!owned_here() || failed()) break;
    const bool apart = has(kCheckMemory) && low == places.front().first;
    piece = memory_->allocate(apart ? size_bytes + kBufferGap : size_bytes, low, high);
    if (piece.found) {
      std::lock_guard lock(held_mutex_);
      held_[piece.address] = size_bytes;
      if (is_own_) shared().used_by_owner.fetch_add(round_up_to_granule(size_bytes));
      return piece.address;
    }
    if (!piece.problem.empty()) break;
  }
  if (failed()) piece.problem = "the card's process has ended";
  if (!owned_here()) piece.problem = "it was opened before this process was forked; open it again";
  const bool whole = settings().software_emulation || wanted.tag.empty();
  const std::string place = (whole ? "the memory" : "bank " + wanted.tag) + " of card " +
                            std::to_string(index_) + " (emulated)";
  report_error(piece.problem.empty()
                   ? place + " has no room for a buffer of " + std::to_string(size_bytes) +
                         " bytes: the largest free piece has " + std::to_string(piece.largest_free)
                   : "no buffer in " + place + ": " + piece.problem);
  return std::nullopt;
}

void Card::release(uint64_t address) {
  uint64_t size_bytes = 0;
  {
    std::lock_guard lock(held_mutex_);
    const auto held = held_.find(address);
    if (held != held_.end()) {
      size_bytes = held->second;
      held_.erase(held);
    }
  }
  if (!owned_here() || failed()) return;
  if (is_own_) shared().used_by_owner.fetch_sub(round_up_to_granule(size_bytes));
  if (has(kCheckMemory)) {
    keep_freed(address);
  } else {
    memory_->release(address);
  }
}

// Freed memory is not used again at once, so that later uses are found.
void Card::keep_freed(uint64_t address) {
  uint64_t oldest = 0;
  {
    const std::lock_guard<std::mutex> lock(freed_mutex_);
    freed_.push_back(address);
    if (freed_.size() <= kMostFreed) return;
    oldest = freed_.front();
    freed_.pop_front();
  }
  memory_->release(oldest);
}

CardAnswer Card::export_memory(uint64_t address, uint64_t size_bytes, uint32_t group) {
  if (owned_here()) return memory_->lend(address, size_bytes, group);
  return {.problem = "the card was opened before this process was forked; open it again"};
}

uint64_t Card::free_bytes() {
  return owned_here() && !failed() ? memory_->free_bytes() : shared().free_bytes.load();
}

}  // namespace tandem::emulation
