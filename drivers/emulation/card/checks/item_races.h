// SPDX-License-Identifier: Apache-2.0
//
// ItemRaces: which work-items of a group accessed which bytes since the last barrier, and whether
// two of them may meet there.
//
// Two items race if they access the same byte between two barriers and one of them writes. Items
// run one after the other (glue/opencl_c/work_group.h), so each access is compared with those of
// the items before. Memory: 24 KiB per 4 KiB of accessed memory, kept for further groups. Cost:
// some nanoseconds per access. Threads: one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace tandem::emulation {

// The earlier access of a race.
struct ItemConflict {
  uint64_t address = 0;  // of the first byte that both access
  bool wrote = false;
  uint32_t code_offset = 0;
};

class ItemRaces {
 public:
  // Items of larger groups are not compared.
  static constexpr uint64_t kMostItems = 16384;

  // Number `items` stands for what runs beside all items.
  void begin_group(uint64_t items);
  void set_item(uint64_t item) { item_ = static_cast<uint16_t>(item); }
  // All items have passed a barrier.
  void end_interval();
  // Whether memory of this page was accessed before.
  bool knows(uint64_t address) const {
    const uint64_t number = address / kPageBytes;
    return slots_[number % slots_.size()].number == number;
  }
  // Whether an access would be a race; records nothing.
  bool may_meet(uint64_t address, uint64_t size_bytes, bool writes);
  // Records the access.
  std::optional<ItemConflict> touch(uint64_t address, uint64_t size_bytes, bool writes,
                                    uint32_t code_offset) {
    const uint64_t number = address / kPageBytes, first = address % kPageBytes;
    const Slot& slot = slots_[number % slots_.size()];
    const bool is_words = ((address | size_bytes) & 3) == 0 && first + size_bytes <= kPageBytes;
    if (!is_words || slot.number != number || slot.page->bytes != nullptr) {
      return touch_slowly(address, size_bytes, writes, code_offset);
    }
    Page& page = *slot.page;
    if (!touch_tags(page.words, first / 4, size_bytes / 4, writes)) {
      note_code(page, first, size_bytes, writes, code_offset);
      return {};
    }
    return touch_slowly(address, size_bytes, writes, code_offset);
  }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kMostPages = 4096;  // kept
  // Tags of items, of words or of bytes; larger ones than base_ are of this interval.
  template <std::size_t kCount>
  struct Tags {
    std::array<uint16_t, kCount> wrote = {}, read = {};
  };
  // `bytes` replaces `words` from the first access on that is smaller.
  struct Page {
    Tags<kPageBytes / 4> words;
    std::unique_ptr<Tags<kPageBytes>> bytes;
    std::array<uint32_t, kPageBytes / 4> write_code = {}, read_code = {};
  };
  struct Slot {
    uint64_t number = ~uint64_t{0};
    Page* page = nullptr;
  };

  // Records an access unless it conflicts; true: it does, and nothing is recorded.
  template <std::size_t kCount>
  bool touch_tags(Tags<kCount>& tags, uint64_t first, uint64_t count, bool writes) {
    for (uint64_t at = first; at < first + count; ++at) {
      if (conflicts(tags, at, writes)) return true;
    }
    for (uint64_t at = first; at < first + count; ++at) set(tags, at, writes);
    return false;
  }
  template <std::size_t kCount>
  bool conflicts(const Tags<kCount>& tags, uint64_t at, bool writes) const {
    const uint16_t own = own_tag();
    const bool wrote = tags.wrote[at] > base_ && tags.wrote[at] != own;
    return wrote || (writes && tags.read[at] > base_ && tags.read[at] != own);
  }
  template <std::size_t kCount>
  void set(Tags<kCount>& tags, uint64_t at, bool writes) const {
    if (writes) {
      tags.wrote[at] = own_tag();
    } else {
      uint16_t& read = tags.read[at];
      read = read > base_ && read != own_tag() ? shared_tag() : own_tag();
    }
  }
  static void note_code(Page& page, uint64_t first, uint64_t size_bytes, bool writes,
                        uint32_t code_offset) {
    auto& codes = writes ? page.write_code : page.read_code;
    for (uint64_t word = first / 4; word <= (first + size_bytes - 1) / 4; ++word) {
      codes[word] = code_offset;
    }
  }
  std::optional<ItemConflict> touch_slowly(uint64_t address, uint64_t size_bytes, bool writes,
                                           uint32_t code_offset);
  template <std::size_t kCount>
  std::optional<ItemConflict> touch_part(Page& page, Tags<kCount>& tags, uint64_t address,
                                         uint64_t size_bytes, bool writes);
  Page& page_of(uint64_t number);
  static void split_words(Page& page);
  uint16_t own_tag() const { return static_cast<uint16_t>(base_ + item_ + 1); }
  // Of bytes that several items have read.
  uint16_t shared_tag() const { return static_cast<uint16_t>(base_ + items_ + 2); }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<Slot, 256> slots_;
  uint32_t base_ = 0;
  uint32_t items_ = 0;
  uint16_t item_ = 0;
};

}  // namespace tandem::emulation
