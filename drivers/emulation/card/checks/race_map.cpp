// SPDX-License-Identifier: Apache-2.0
//
// A mark has, from the lowest bit: code offset (32), mask of bytes (4), unit + 1 (8), count of its
// runs (20).
#include "emulation/card/checks/race_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tandem::emulation {
namespace {

constexpr uint64_t kRunMask = (1 << 20) - 1;
constexpr uint64_t kMaskBits = uint64_t{0xf} << 32;
constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kSeveral = ~uint64_t{0};

uint64_t owner_of(uint64_t mark) { return mark >> 36; }
uint32_t unit_of(uint64_t mark) { return static_cast<uint32_t>(mark >> 36 & 0xff) - 1; }

void note(std::atomic<uint64_t>& slot, uint64_t mark) {
  const uint64_t before = slot.load(std::memory_order_relaxed);
  if (owner_of(before) == owner_of(mark)) mark |= before & kMaskBits;
  if (before != mark) slot.store(mark, std::memory_order_relaxed);
}

}  // namespace

RaceMap::RaceMap(uint64_t memory_bytes)
    : entries_bytes_((memory_bytes / 4 + 16) * sizeof(Entry)),
      size_bytes_(entries_bytes_ + (memory_bytes / kBlockBytes + 1) * sizeof(Block)) {
  void* const mapped = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "cannot map the record of accesses");
  }
  madvise(mapped, size_bytes_, MADV_DONTDUMP);
  entries_ = static_cast<Entry*>(mapped);
  blocks_ = reinterpret_cast<Block*>(static_cast<char*>(mapped) + entries_bytes_);
}

RaceMap::~RaceMap() { munmap(entries_, size_bytes_); }

bool RaceMap::is_running(uint64_t mark) const {
  const uint32_t run = runs_[unit_of(mark)].load(std::memory_order_relaxed);
  return run % 2 == 1 && (run & kRunMask) == (mark >> 44 & kRunMask);
}

// Whether an entry has bytes of `own` that another running unit wrote, or reads that `own` writes.
void RaceMap::look(const Entry& entry, uint64_t own, bool writes, Found& found) const {
  for (const bool wrote : {true, false}) {
    if (found || (!writes && !wrote)) continue;
    const uint64_t other = (wrote ? entry.writer : entry.reader).load(std::memory_order_relaxed);
    const bool foreign = other != 0 && unit_of(other) != unit_of(own);
    if (!foreign || (other & own & kMaskBits) == 0 || !is_running(other)) continue;
    found = Conflict{unit_of(other), wrote, static_cast<uint32_t>(other)};
  }
}

void RaceMap::touch_block(uint64_t block, uint64_t own, bool writes, Found& found) {
  Block& whole = blocks_[block];
  own |= kMaskBits;
  look(whole.whole, own, writes, found);
  const uint64_t parts = whole.parts.load(std::memory_order_relaxed);
  const bool has_foreign =
      parts == kSeveral || (parts != 0 && unit_of(parts) != unit_of(own) && is_running(parts));
  const Entry* const words = entries_ + block * (kBlockBytes / 4);
  for (uint64_t word = 0; has_foreign && !found && word < kBlockBytes / 4; ++word) {
    look(words[word], own, writes, found);
  }
  note(writes ? whole.whole.writer : whole.whole.reader, own);
}

// Inside of one block.
void RaceMap::touch_words(uint64_t address, uint64_t end, uint64_t own, bool writes, Found& found) {
  Block& block = blocks_[address / kBlockBytes];
  look(block.whole, own | kMaskBits, writes, found);
  const uint64_t parts = block.parts.load(std::memory_order_relaxed);
  if (parts != own) {
    const bool foreign =
        parts == kSeveral || (parts != 0 && unit_of(parts) != unit_of(own) && is_running(parts));
    block.parts.store(foreign ? kSeveral : own, std::memory_order_relaxed);
  }
  for (uint64_t word = address / 4; word * 4 < end; ++word) {
    const uint64_t first = std::max(address, word * 4) - word * 4;
    const uint64_t last = std::min(end, word * 4 + 4) - word * 4;
    const uint64_t mask = ((uint64_t{1} << last) - (uint64_t{1} << first)) << 32;
    Entry& entry = entries_[word];
    look(entry, own | mask, writes, found);
    note(writes ? entry.writer : entry.reader, own | mask);
  }
}

std::optional<Conflict> RaceMap::touch(uint32_t unit, uint64_t address, uint64_t size_bytes,
                                       bool writes, uint32_t code_offset) {
  const uint64_t run = runs_[unit].load(std::memory_order_relaxed) & kRunMask;
  const uint64_t own = run << 44 | uint64_t{unit + 1} << 36 | code_offset;
  Found found;
  for (const uint64_t end = address + size_bytes; address < end;) {
    const uint64_t next = std::min(end, (address / kBlockBytes + 1) * kBlockBytes);
    if (next - address == kBlockBytes) {
      touch_block(address / kBlockBytes, own, writes, found);
    } else {
      touch_words(address, next, own, writes, found);
    }
    address = next;
  }
  return found;
}

}  // namespace tandem::emulation
