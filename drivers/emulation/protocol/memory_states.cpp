// SPDX-License-Identifier: Apache-2.0
//
// The states, then the records, the counts of changes, those of blocks, and the blocks that kernels
// wrote. A record is taken by exchanging its state; a full table forgets
// freed buffers, then does without new ones.
#include "emulation/protocol/memory_states.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "emulation/protocol/range_allocator.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kNoRecord = 0;
constexpr uint32_t kRecordTaken = 1u << 31;
constexpr uint64_t kStateSlack = 4096;

uint64_t states_bytes(uint64_t memory_bytes) {
  return (memory_bytes + kStateSlack + 4095) / 4096 * 4096;
}
uint64_t num_blocks(uint64_t memory_bytes) { return memory_bytes / kStateBlock + 1; }
uint64_t counts_begin(uint64_t memory_bytes) {
  const uint64_t end = states_bytes(memory_bytes) + kMaxBufferRecords * sizeof(BufferRecord);
  return (end + 63) / 64 * 64;
}
uint64_t blocks_begin(uint64_t memory_bytes) { return counts_begin(memory_bytes) + 64; }
uint64_t unseen_begin(uint64_t memory_bytes) {
  return blocks_begin(memory_bytes) + num_blocks(memory_bytes) * sizeof(uint32_t);
}
uint64_t states_area_bytes(uint64_t memory_bytes) {
  return unseen_begin(memory_bytes) + num_blocks(memory_bytes);
}

}  // namespace

MemoryStates MemoryStates::create(uint64_t memory_bytes) {
  MemoryStates states;
  states.area_ = SharedArea::create("tandem-states", states_area_bytes(memory_bytes));
  states.memory_bytes_ = memory_bytes;
  return states;
}

MemoryStates MemoryStates::adopt(int descriptor, uint64_t memory_bytes) {
  MemoryStates states;
  states.area_ = SharedArea::adopt(descriptor, states_area_bytes(memory_bytes));
  states.memory_bytes_ = memory_bytes;
  return states;
}

BufferRecord* MemoryStates::records() const {
  return reinterpret_cast<BufferRecord*>(area_.data() + states_bytes(memory_bytes_));
}

MemoryStates::ChangeCounts& MemoryStates::counts() const {
  return *reinterpret_cast<ChangeCounts*>(area_.data() + counts_begin(memory_bytes_));
}
std::atomic<uint32_t>* MemoryStates::block_counts() const {
  return reinterpret_cast<std::atomic<uint32_t>*>(area_.data() + blocks_begin(memory_bytes_));
}
std::atomic<uint8_t>* MemoryStates::unseen_blocks() const {
  return reinterpret_cast<std::atomic<uint8_t>*>(area_.data() + unseen_begin(memory_bytes_));
}

void MemoryStates::note_change(uint64_t address, uint64_t size_bytes) const {
  if (size_bytes == 0) return;
  std::atomic<uint32_t>* const blocks = block_counts();
  const uint64_t last = (address + size_bytes - 1) / kStateBlock;
  for (uint64_t block = address / kStateBlock; block <= last; ++block) {
    blocks[block].fetch_add(1, std::memory_order_release);
  }
  counts().all.fetch_add(1, std::memory_order_release);
}

void MemoryStates::note_unseen(uint64_t address, uint64_t size_bytes) const {
  if (size_bytes == 0) return;
  std::atomic<uint8_t>* const blocks = unseen_blocks();
  const uint64_t last = (address + size_bytes - 1) / kStateBlock;
  for (uint64_t block = address / kStateBlock; block <= last; ++block) {
    if (blocks[block].load(std::memory_order_relaxed) == 0) blocks[block].store(1);
  }
}

bool MemoryStates::any_unseen(uint64_t address, uint64_t size_bytes) const {
  if (!covers(address, size_bytes)) return false;
  const std::atomic<uint8_t>* const blocks = unseen_blocks();
  const uint64_t end = address + size_bytes;
  for (uint64_t at = address; at < end;) {
    const uint64_t next = std::min(end, (at / kStateBlock + 1) * kStateBlock);
    if (blocks[at / kStateBlock].load() != 0 && any(at, next - at, kStateUnseen)) return true;
    at = next;
  }
  return false;
}

void MemoryStates::make_buffer(uint64_t address, uint64_t size_bytes, uint32_t group, bool written,
                               const CodePlace& place) const {
  if (!covers(address, size_bytes)) return;
  std::memset(states() + address, written ? kStateLive | kStateWritten : kStateLive, size_bytes);
  // What an earlier, larger buffer left behind this one belongs to none.
  const uint64_t end = address + size_bytes;
  const uint64_t rest = (kAllocationGranule - end % kAllocationGranule) % kAllocationGranule;
  if (covers(end, rest)) std::memset(states() + end, 0, rest);
  // The card's first write then finds the page of these marks.
  for (uint64_t block = address / kStateBlock; block * kStateBlock < end; ++block) {
    unseen_blocks()[block].fetch_or(0);
  }
  note_change(address, size_bytes + rest);
  const uint64_t number = counts().made.fetch_add(1) + 1;
  for (const uint32_t from : {kNoRecord, uint32_t{kStateFreed}}) {
    for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
      BufferRecord& record = records()[index];
      uint32_t expected = from;
      if (!record.state.compare_exchange_strong(expected, kRecordTaken)) continue;
      record.group = group;
      record.address = address;
      record.size_bytes = size_bytes;
      record.made_at = place;
      record.number = number;
      record.state.store(kStateLive, std::memory_order_release);
      return;
    }
  }
}

void MemoryStates::free_buffer(uint64_t address, uint64_t size_bytes) const {
  if (!covers(address, size_bytes)) return;
  std::memset(states() + address, kStateFreed, size_bytes);
  note_change(address, size_bytes);
  for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
    BufferRecord& record = records()[index];
    const uint32_t state = record.state.load(std::memory_order_acquire);
    if (state == kNoRecord) return;
    if (state != kStateLive || record.address != address) continue;
    record.state.store(kStateFreed, std::memory_order_release);
    return;
  }
}

uint8_t MemoryStates::change(uint64_t address, uint64_t size_bytes, uint8_t on, uint8_t off) const {
  if (!covers(address, size_bytes) || size_bytes == 0) return 0;
  // Before the bytes, so that a kernel's store in between marks its block again.
  if ((off & kStateUnseen) != 0) {
    const uint64_t first = (address + kStateBlock - 1) / kStateBlock;
    for (uint64_t block = first; block < (address + size_bytes) / kStateBlock; ++block) {
      if (unseen_blocks()[block].load(std::memory_order_relaxed) != 0)
        unseen_blocks()[block].store(0);
    }
  }
  uint8_t* const at = states() + address;
  uint8_t had = 0;
  for (uint64_t byte = 0; byte < size_bytes; ++byte) {
    const uint8_t before = at[byte];
    had |= before;
    at[byte] = static_cast<uint8_t>((before & ~off) | on);
  }
  if ((on & kStateUnseen) != 0) note_unseen(address, size_bytes);
  note_change(address, size_bytes);
  return had;
}

// Memory of other cards has no states here, so it counts as written. As memmove(): the ranges may
// overlap.
void MemoryStates::copy(uint64_t to, uint64_t from, uint64_t size_bytes) const {
  if (!covers(to, size_bytes) || size_bytes == 0) return;
  const bool is_known = covers(from, size_bytes);
  const auto copy_byte = [&](uint64_t byte) {
    const int source = is_known ? states()[from + byte] : int{kStateWritten};
    const int kept = source & (kStateWritten | kStateStale);
    states()[to + byte] = static_cast<uint8_t>(kStateLive | kStateUnseen | kept);
  };
  if (to <= from) {
    for (uint64_t byte = 0; byte < size_bytes; ++byte) copy_byte(byte);
  } else {
    for (uint64_t byte = size_bytes; byte-- > 0;) copy_byte(byte);
  }
  note_unseen(to, size_bytes);
  note_change(to, size_bytes);
}

bool MemoryStates::any(uint64_t address, uint64_t size_bytes, uint8_t bits) const {
  if (!covers(address, size_bytes)) return false;
  const uint8_t* const at = states() + address;
  uint8_t found = 0;
  for (uint64_t byte = 0; byte < size_bytes; ++byte) found |= at[byte];
  return (found & bits) != 0;
}

const BufferRecord* MemoryStates::find(uint64_t address) const {
  const BufferRecord* best = nullptr;
  // The least is best: live before freed, then the fewest bytes between, then the newest. Most
  // accesses outside go beyond an end, so a byte before a beginning counts as many.
  constexpr uint64_t kWeightBefore = 64;
  using Rank = std::tuple<bool, uint64_t, uint64_t>;
  Rank best_rank;
  for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
    const BufferRecord& record = records()[index];
    const uint32_t state = record.state.load(std::memory_order_acquire);
    if (state == kNoRecord) break;
    if (state == kRecordTaken) continue;
    const bool is_before = record.address > address;
    const bool holds = !is_before && address - record.address < record.size_bytes;
    if (holds && state == kStateLive) return &record;
    if (holds && (states()[address] & kStateFreed) == 0) continue;  // made anew since
    const uint64_t between = holds       ? 0
                             : is_before ? kWeightBefore * (record.address - address)
                                         : address - record.address - record.size_bytes + 1;
    const Rank rank = {!holds && state != kStateLive, between, ~record.number};
    if (best != nullptr && best_rank < rank) continue;
    best = &record;
    best_rank = rank;
  }
  return best;
}

}  // namespace tandem::emulation
