// SPDX-License-Identifier: Apache-2.0
//
// The states, then the records. A record is taken by exchanging its state; a full table forgets
// freed buffers, then does without new ones.
#include "emulation/protocol/memory_states.h"

#include <cstring>

#include "emulation/protocol/range_allocator.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kNoRecord = 0;
constexpr uint32_t kRecordTaken = 1u << 31;
constexpr uint64_t kStateSlack = 4096;

uint64_t states_bytes(uint64_t memory_bytes) {
  return (memory_bytes + kStateSlack + 4095) / 4096 * 4096;
}
uint64_t states_area_bytes(uint64_t memory_bytes) {
  return states_bytes(memory_bytes) + kMaxBufferRecords * sizeof(BufferRecord);
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

void MemoryStates::make_buffer(uint64_t address, uint64_t size_bytes, uint32_t group, bool written,
                               const CodePlace& place) const {
  if (!covers(address, size_bytes)) return;
  std::memset(states() + address, written ? kStateLive | kStateWritten : kStateLive, size_bytes);
  // What an earlier, larger buffer left behind this one belongs to none.
  const uint64_t end = address + size_bytes;
  const uint64_t rest = (kAllocationGranule - end % kAllocationGranule) % kAllocationGranule;
  if (covers(end, rest)) std::memset(states() + end, 0, rest);
  for (const uint32_t from : {kNoRecord, uint32_t{kStateFreed}}) {
    for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
      BufferRecord& record = records()[index];
      uint32_t expected = from;
      if (!record.state.compare_exchange_strong(expected, kRecordTaken)) continue;
      record.group = group;
      record.address = address;
      record.size_bytes = size_bytes;
      record.made_at = place;
      record.state.store(kStateLive, std::memory_order_release);
      return;
    }
  }
}

void MemoryStates::free_buffer(uint64_t address, uint64_t size_bytes) const {
  if (!covers(address, size_bytes)) return;
  std::memset(states() + address, kStateFreed, size_bytes);
  for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
    BufferRecord& record = records()[index];
    const uint32_t state = record.state.load(std::memory_order_acquire);
    if (state == kNoRecord) return;
    if (state != kStateLive || record.address != address) continue;
    record.state.store(kStateFreed, std::memory_order_release);
    return;
  }
}

void MemoryStates::change(uint64_t address, uint64_t size_bytes, uint8_t on, uint8_t off) const {
  if (!covers(address, size_bytes)) return;
  uint8_t* const at = states() + address;
  for (uint64_t byte = 0; byte < size_bytes; ++byte) {
    at[byte] = static_cast<uint8_t>((at[byte] & ~off) | on);
  }
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
  const auto holds = [address](const BufferRecord& record) {
    return address >= record.address && address - record.address < record.size_bytes;
  };
  for (uint32_t index = 0; index < kMaxBufferRecords; ++index) {
    const BufferRecord& record = records()[index];
    const uint32_t state = record.state.load(std::memory_order_acquire);
    if (state == kNoRecord) break;
    if (state == kRecordTaken || record.address > address) continue;
    if (holds(record) && state == kStateLive) return &record;
    if (holds(record) && (states()[address] & kStateFreed) == 0) continue;  // made anew since
    const bool better =
        best == nullptr || holds(record) ||
        (!holds(*best) && record.address + record.size_bytes > best->address + best->size_bytes);
    if (better) best = &record;
  }
  return best;
}

}  // namespace tandem::emulation
