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

uint64_t owner_of(uint64_t mark) { return mark >> 36; }
uint32_t unit_of(uint64_t mark) { return static_cast<uint32_t>(mark >> 36 & 0xff) - 1; }

void note(std::atomic<uint64_t>& slot, uint64_t mark) {
  const uint64_t before = slot.load(std::memory_order_relaxed);
  if (owner_of(before) == owner_of(mark)) mark |= before & kMaskBits;
  if (before != mark) slot.store(mark, std::memory_order_relaxed);
}

}  // namespace

RaceMap::RaceMap(uint64_t memory_bytes) : size_bytes_((memory_bytes / 4 + 16) * sizeof(Entry)) {
  void* const mapped = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "cannot map the record of accesses");
  }
  madvise(mapped, size_bytes_, MADV_DONTDUMP);
  entries_ = static_cast<Entry*>(mapped);
}

RaceMap::~RaceMap() { munmap(entries_, size_bytes_); }

bool RaceMap::is_running(uint64_t mark) const {
  const uint32_t run = runs_[unit_of(mark)].load(std::memory_order_relaxed);
  return run % 2 == 1 && (run & kRunMask) == (mark >> 44 & kRunMask);
}

std::optional<Conflict> RaceMap::touch(uint32_t unit, uint64_t address, uint64_t size_bytes,
                                       bool writes, uint32_t code_offset) {
  const uint64_t run = runs_[unit].load(std::memory_order_relaxed) & kRunMask;
  const uint64_t own = run << 44 | uint64_t{unit + 1} << 36 | code_offset;
  std::optional<Conflict> conflict;
  const uint64_t end = address + size_bytes;
  for (uint64_t word = address / 4; word * 4 < end; ++word) {
    const uint64_t first = std::max(address, word * 4) - word * 4;
    const uint64_t last = std::min(end, word * 4 + 4) - word * 4;
    const uint64_t mask = ((uint64_t{1} << last) - (uint64_t{1} << first)) << 32;
    Entry& entry = entries_[word];
    for (const bool wrote : {true, false}) {
      if (!writes && !wrote) continue;
      const uint64_t other = (wrote ? entry.writer : entry.reader).load(std::memory_order_relaxed);
      const bool foreign = other != 0 && unit_of(other) != unit && (other & mask) != 0;
      if (foreign && !conflict && is_running(other)) {
        conflict = Conflict{unit_of(other), wrote, static_cast<uint32_t>(other)};
      }
    }
    note(writes ? entry.writer : entry.reader, own | mask);
  }
  return conflict;
}

}  // namespace tandem::emulation
