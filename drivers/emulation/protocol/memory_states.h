// SPDX-License-Identifier: Apache-2.0
//
// MemoryStates: the state of every byte of a card's device memory, and where its buffers were made.
// A card and its clients share it while checks are on.
//
// One byte per byte of device memory, in an anonymous file; the system allocates its pages at the
// first access. Clients mark buffers and syncs, the card marks bytes that kernels write. Clients'
// changes are counted per block, so the card knows what to look at again. Threads and processes:
// any. A byte has one writer at a time, unless the program has the race that the checks look for.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulation/protocol/code_place.h"
#include "emulation/protocol/shared_area.h"

namespace tandem::emulation {

enum MemoryState : uint8_t {
  kStateLive = 1,     // inside a buffer
  kStateWritten = 2,  // by a sync, a copy or a kernel
  kStateStale = 4,    // the host's copy changed after its last sync to the device
  kStateFreed = 8,    // in a buffer that was freed
  kStateUnseen = 16   // a kernel or a copy wrote it; the host's copy has not received it
};

// A buffer; the record stays after the buffer is freed.
struct BufferRecord {
  std::atomic<uint32_t> state{0};  // 0: none; kStateLive or kStateFreed
  uint32_t group = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t number = 0;  // no other buffer has it, not even one at the same address
  CodePlace made_at;
};

constexpr uint32_t kMaxBufferRecords = 4096;
constexpr uint64_t kStateBlock = 4096;  // bytes of device memory

class MemoryStates {
 public:
  MemoryStates() = default;
  // The card makes the states of `memory_bytes`; its clients adopt the descriptor.
  static MemoryStates create(uint64_t memory_bytes);
  static MemoryStates adopt(int descriptor, uint64_t memory_bytes);

  int descriptor() const { return area_.descriptor(); }
  // [memory_bytes], followed by 64 bytes of 0.
  uint8_t* states() const { return reinterpret_cast<uint8_t*>(area_.data()); }
  bool covers(uint64_t address, uint64_t size_bytes) const {
    return address <= memory_bytes_ && size_bytes <= memory_bytes_ - address;
  }

  // The start and the end of a buffer. `written`: the host writes it directly, without a sync.
  void make_buffer(uint64_t address, uint64_t size_bytes, uint32_t group, bool written,
                   const CodePlace& place) const;
  void free_buffer(uint64_t address, uint64_t size_bytes) const;
  // Sets the bits `on` and clears `off` of a range inside device memory. Gives the bits that any of
  // the bytes had.
  uint8_t change(uint64_t address, uint64_t size_bytes, uint8_t on, uint8_t off) const;
  // A copy of device memory. Bytes that were never written, or are stale, are so in the copy too.
  void copy(uint64_t to, uint64_t from, uint64_t size_bytes) const;
  // Call it after a client has changed states() itself.
  void note_change(uint64_t address, uint64_t size_bytes) const;
  // How often clients changed states: any at all, or of the block of an address.
  uint64_t changes() const { return counts().all.load(std::memory_order_acquire); }
  uint32_t block_changes(uint64_t address) const {
    return block_counts()[address / kStateBlock].load(std::memory_order_acquire);
  }
  // Call it after kStateUnseen was set in states() itself.
  void note_unseen(uint64_t address, uint64_t size_bytes) const;
  // Whether a byte of the range is kStateUnseen. Quick for blocks that no kernel wrote.
  bool any_unseen(uint64_t address, uint64_t size_bytes) const;
  // Whether a byte of the range has one of `bits`.
  bool any(uint64_t address, uint64_t size_bytes, uint8_t bits) const;
  // The newest buffer that contains or contained `address`; otherwise the closest one that
  // ends before it, or begins right behind it, and a freed one only where none is live. Null: none.
  const BufferRecord* find(uint64_t address) const;

 private:
  struct ChangeCounts {
    std::atomic<uint64_t> all{0};
    std::atomic<uint64_t> made{0};  // buffers
  };
  BufferRecord* records() const;
  ChangeCounts& counts() const;
  std::atomic<uint32_t>* block_counts() const;
  std::atomic<uint8_t>* unseen_blocks() const;  // 1: bytes of the block may be kStateUnseen

  SharedArea area_;
  uint64_t memory_bytes_ = 0;
};

}  // namespace tandem::emulation
