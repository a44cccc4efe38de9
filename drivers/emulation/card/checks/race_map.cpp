// SPDX-License-Identifier: Apache-2.0
//
// The mark of an entry has, from the lowest bit: code offset (32), mask of bytes (4), unit + 1 (8),
// number of its call (20). That of a span has the first and the last byte (12 each) instead of
// offset and mask.
//
// An access looks for marks, leaves its own, and looks again: of two units that do so at the same
// time, the one that is later sees the other's mark. Atomics are in one order for that.
#include "emulation/card/checks/race_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tandem::emulation {
namespace {

// Marks are younger than this: half of what their bits can tell apart.
constexpr uint32_t kForgottenCalls = (kCallMask + 1) / 2;
constexpr uint64_t kMaskBits = uint64_t{0xf} << 32;
constexpr uint64_t kWordBytes = 4;
constexpr unsigned kOwnerShift = 36, kLastShift = 12;
constexpr uint64_t kSeveral = ~uint64_t{0};

uint64_t owner_of(uint64_t mark) { return mark >> kOwnerShift; }
uint32_t unit_of(uint64_t mark) { return static_cast<uint32_t>(mark >> kOwnerShift & 0xff) - 1; }
uint32_t call_of(uint64_t mark) { return static_cast<uint32_t>(mark >> 44 & kCallMask); }
// Whether the call of a mark is a later one than `call`.
bool is_after(uint64_t mark, uint32_t call) {
  const uint64_t ahead = (call_of(mark) - uint64_t{call}) & kCallMask;
  return ahead != 0 && ahead < kForgottenCalls;
}
uint64_t first_of(uint64_t span) { return span & 0xfff; }
uint64_t last_of(uint64_t span) { return span >> kLastShift & 0xfff; }

uint64_t code_mark(uint64_t own) { return owner_of(own) << 32 | (own & 0xffffffff); }
// The code of a span's mark, which its unit may be about to write.
uint32_t code_of(const std::atomic<uint64_t>& code, uint64_t mark) {
  uint64_t found = 0;
  for (int tries = 0; tries < 1000; ++tries) {
    found = code.load(std::memory_order_acquire);
    if (found >> 32 == owner_of(mark)) return static_cast<uint32_t>(found);
  }
  return 0;
}

// The bytes of a word that lie in [begin, last], as in an entry's mark.
uint64_t mask_of(uint64_t word, uint64_t begin, uint64_t last) {
  const uint64_t first = std::max(begin, word * kWordBytes) - word * kWordBytes;
  const uint64_t end = std::min(last + 1, (word + 1) * kWordBytes) - word * kWordBytes;
  return ((uint64_t{1} << end) - (uint64_t{1} << first)) << 32;
}

// Leaves `mark` in place of `before`; false if the slot has another mark by now.
bool note(std::atomic<uint64_t>& slot, uint64_t before, uint64_t mark) {
  if (owner_of(before) == owner_of(mark)) mark |= before & kMaskBits;
  return before == mark || slot.compare_exchange_strong(before, mark);
}

}  // namespace

RaceMap::RaceMap(uint64_t memory_bytes)
    : entries_bytes_((memory_bytes / kWordBytes + 16) * sizeof(Entry)),
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

uint32_t RaceMap::begin_run(uint32_t unit, const StartOrder& order) {
  Run& run = runs_[unit];
  const auto call = static_cast<uint32_t>(run.state.load(std::memory_order_relaxed) >> 1) + 1;
  run.order = order;
  if (call % kForgottenCalls == 0) forget_all();
  run.state.store(uint64_t{call} << 1 | kRuns);
  return call;
}

// The system gives pages of zeros.
void RaceMap::forget_all() {
  const std::lock_guard<std::mutex> lock(told_mutex_);
  madvise(entries_, size_bytes_, MADV_DONTNEED);
  told_.clear();
}

bool RaceMap::is_first(uint32_t unit, uint32_t other, uint64_t buffer) {
  const std::lock_guard<std::mutex> lock(told_mutex_);
  return told_.emplace(std::min(unit, other), std::max(unit, other), buffer).second;
}

bool RaceMap::is_running(uint64_t mark) const {
  const uint64_t state = runs_[unit_of(mark)].state.load(std::memory_order_relaxed);
  return (state & kRuns) != 0 && (state >> 1 & kCallMask) == call_of(mark);
}

// Whether a mark is that of a call without an order with this one. A unit makes its calls in order.
bool RaceMap::is_unordered(uint64_t mark, uint64_t own) const {
  if (mark == 0 || owner_of(mark) == owner_of(own)) return false;
  const uint32_t unit = unit_of(mark);
  const bool is_same_unit = unit == unit_of(own);
  const StartOrder& order = runs_[unit_of(own)].order;
  if (is_same_unit && !order.may_move) return false;
  if (!is_same_unit && is_running(mark)) return true;
  return order.is_known && is_after(mark, order.over[unit]);
}

// Whether an entry has bytes of `own` that a call without an order wrote, or reads that `own`
// writes.
void RaceMap::look(const Entry& entry, uint64_t own, bool writes, Found& found) const {
  for (const bool wrote : {true, false}) {
    if (found || (!writes && !wrote)) continue;
    const uint64_t other = (wrote ? entry.writer : entry.reader).load();
    if ((other & own & kMaskBits) == 0 || !is_unordered(other, own)) continue;
    found = Conflict{unit_of(other), wrote, static_cast<uint32_t>(other), call_of(other),
                     is_running(other)};
  }
}

void RaceMap::look_at_spans(const Bytes& bytes, uint64_t own, bool writes, Found& found) const {
  const Block& block = blocks_[bytes.block];
  for (const bool wrote : {true, false}) {
    if (found || (!writes && !wrote)) continue;
    const Span& span = wrote ? block.written : block.read;
    const uint64_t mark = span.mark.load();
    if (!is_unordered(mark, own) || first_of(mark) > bytes.last || last_of(mark) < bytes.begin) {
      continue;
    }
    found =
        Conflict{unit_of(mark), wrote, code_of(span.code, mark), call_of(mark), is_running(mark)};
  }
}

void RaceMap::look_at_words(const Bytes& bytes, uint64_t own, bool writes, Found& found) const {
  const uint64_t parts = blocks_[bytes.block].parts.load();
  if (parts != kSeveral && !is_unordered(parts, own)) return;
  const Entry* const words = entries_ + bytes.block * (kBlockBytes / kWordBytes);
  for (uint64_t word = bytes.begin / kWordBytes; !found && word * kWordBytes <= bytes.last;
       ++word) {
    look(words[word], own | mask_of(word, bytes.begin, bytes.last), writes, found);
  }
}

// Whether the unit's span has the bytes. That of a call without an order is replaced only by a read
// of the whole block. A span names one place, so other code extends it only if it covers it.
RaceMap::InSpan RaceMap::extend(const Bytes& bytes, uint64_t own, bool writes) {
  Span& span = writes ? blocks_[bytes.block].written : blocks_[bytes.block].read;
  const uint64_t before = span.mark.load(std::memory_order_relaxed);
  uint64_t begin = bytes.begin, last = bytes.last;
  if (owner_of(before) == owner_of(own)) {
    const uint64_t known_begin = first_of(before), known_last = last_of(before);
    if (known_begin <= begin && last <= known_last) return InSpan::kBefore;
    const bool covers = begin <= known_begin && known_last <= last;
    const bool joins = begin <= known_last + 1 && known_begin <= last + 1;
    const bool is_same_code = span.code.load(std::memory_order_relaxed) == code_mark(own);
    if (!covers && !(joins && is_same_code)) return InSpan::kNo;
    begin = std::min(begin, known_begin);
    last = std::max(last, known_last);
  } else if (is_unordered(before, own) && (writes || last - begin + 1 != kBlockBytes)) {
    return InSpan::kNo;
  }
  const uint64_t after = owner_of(own) << kOwnerShift | last << kLastShift | begin;
  // Two units may claim it at once.
  uint64_t expected = before;
  if (!span.mark.compare_exchange_strong(expected, after)) return InSpan::kNo;
  span.code.store(code_mark(own), std::memory_order_release);
  return InSpan::kNow;
}

// A write that conflicts with this one stays: checks look again, to tell the place of the race.
void RaceMap::note_words(const Bytes& bytes, uint64_t own, bool writes, Found& found) {
  std::atomic<uint64_t>& parts = blocks_[bytes.block].parts;
  for (uint64_t before = parts.load(); before != own && before != kSeveral;) {
    const uint64_t next = is_unordered(before, own) ? kSeveral : own;
    if (parts.compare_exchange_weak(before, next)) break;
  }
  Entry* const words = entries_ + bytes.block * (kBlockBytes / kWordBytes);
  for (uint64_t word = bytes.begin / kWordBytes; word * kWordBytes <= bytes.last; ++word) {
    const uint64_t mark = own | mask_of(word, bytes.begin, bytes.last);
    std::atomic<uint64_t>& slot = writes ? words[word].writer : words[word].reader;
    for (bool is_left = false; !is_left;) {
      look(words[word], mark, writes, found);
      const uint64_t known = slot.load();
      const bool stays = writes && (known & mark & kMaskBits) != 0 && is_unordered(known, own);
      is_left = stays || note(slot, known, mark);
    }
    look(words[word], mark, writes, found);
  }
}

std::optional<Conflict> RaceMap::touch(uint32_t unit, uint64_t address, uint64_t size_bytes,
                                       bool writes, uint32_t code_offset) {
  const uint64_t run = runs_[unit].state.load(std::memory_order_relaxed) >> 1 & kCallMask;
  const uint64_t own = run << 44 | uint64_t{unit + 1} << 36 | code_offset;
  Found found;
  for (const uint64_t end = address + size_bytes; address < end;) {
    const uint64_t next = std::min(end, (address / kBlockBytes + 1) * kBlockBytes);
    const uint64_t block = address / kBlockBytes;
    const Bytes bytes{block, address - block * kBlockBytes, next - 1 - block * kBlockBytes};
    look_at_spans(bytes, own, writes, found);
    const InSpan in_span = extend(bytes, own, writes);
    if (in_span == InSpan::kNo) {
      note_words(bytes, own, writes, found);
    } else {
      look_at_words(bytes, own, writes, found);
    }
    if (in_span != InSpan::kBefore) look_at_spans(bytes, own, writes, found);
    address = next;
  }
  return found;
}

}  // namespace tandem::emulation
