// SPDX-License-Identifier: Apache-2.0
//
// Each interval between two barriers takes a range of tags of its own, so nothing is cleared until
// the tags are used up.
#include "emulation/card/checks/item_races.h"

#include <algorithm>

namespace tandem::emulation {
namespace {

constexpr uint32_t kLastTag = 0xffff;

}  // namespace

void ItemRaces::begin_group(uint64_t items) {
  end_interval();
  items_ = static_cast<uint32_t>(items);
  item_ = 0;
  if (base_ + items_ + 2 > kLastTag) end_interval();
}

void ItemRaces::end_interval() {
  base_ += items_ + 2;
  if (base_ + items_ + 2 <= kLastTag) return;
  base_ = 0;
  if (pages_.size() > kMostPages) {
    pages_.clear();
    slots_ = {};
  }
  for (const auto& [number, page] : pages_) {
    page->words = {};
    if (page->bytes != nullptr) *page->bytes = {};
  }
}

std::optional<ItemConflict> ItemRaces::touch_slowly(uint64_t address, uint64_t size_bytes,
                                                    bool writes, uint32_t code_offset) {
  std::optional<ItemConflict> found;
  while (size_bytes != 0) {
    const uint64_t part = std::min(size_bytes, kPageBytes - address % kPageBytes);
    Page& page = page_of(address / kPageBytes);
    if (page.bytes == nullptr && ((address | part) & 3) != 0) split_words(page);
    const auto conflict = page.bytes != nullptr
                              ? touch_part(page, *page.bytes, address, part, writes)
                              : touch_part(page, page.words, address, part, writes);
    note_code(page, address % kPageBytes, part, writes, code_offset);
    if (conflict && !found) found = conflict;
    address += part;
    size_bytes -= part;
  }
  return found;
}

bool ItemRaces::may_meet(uint64_t address, uint64_t size_bytes, bool writes) {
  for (const uint64_t end = address + size_bytes; address < end;) {
    const uint64_t next = std::min(end, (address / kPageBytes + 1) * kPageBytes);
    const Page& page = page_of(address / kPageBytes);
    const uint64_t first = address % kPageBytes, last = (next - 1) % kPageBytes;
    if (page.bytes != nullptr) {
      for (uint64_t at = first; at <= last; ++at) {
        if (conflicts(*page.bytes, at, writes)) return true;
      }
    } else {
      for (uint64_t at = first / 4; at <= last / 4; ++at) {
        if (conflicts(page.words, at, writes)) return true;
      }
    }
    address = next;
  }
  return false;
}

template <std::size_t kCount>
std::optional<ItemConflict> ItemRaces::touch_part(Page& page, Tags<kCount>& tags, uint64_t address,
                                                  uint64_t size_bytes, bool writes) {
  constexpr uint64_t kBytes = kPageBytes / kCount;
  const uint64_t first = address % kPageBytes / kBytes;
  std::optional<ItemConflict> found;
  for (uint64_t at = first; at < first + size_bytes / kBytes; ++at) {
    if (!found && conflicts(tags, at, writes)) {
      const bool wrote = tags.wrote[at] > base_ && tags.wrote[at] != own_tag();
      const uint64_t word = at * kBytes / 4;
      found = ItemConflict{address + (at - first) * kBytes, wrote,
                           wrote ? page.write_code[word] : page.read_code[word]};
    }
    set(tags, at, writes);
  }
  return found;
}

void ItemRaces::split_words(Page& page) {
  page.bytes = std::make_unique<Tags<kPageBytes>>();
  for (uint64_t at = 0; at < kPageBytes; ++at) {
    page.bytes->wrote[at] = page.words.wrote[at / 4];
    page.bytes->read[at] = page.words.read[at / 4];
  }
}

ItemRaces::Page& ItemRaces::page_of(uint64_t number) {
  Slot& slot = slots_[number % slots_.size()];
  if (slot.number == number) return *slot.page;
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  slot = {number, page.get()};
  return *page;
}

}  // namespace tandem::emulation
