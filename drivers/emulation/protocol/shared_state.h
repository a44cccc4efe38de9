// SPDX-License-Identifier: Apache-2.0
//
// The memory an application and its emulated card share for launching kernels: one ring per compute
// unit.
//
// The application writes a command packet (the public ERT format) into the packet area and puts its
// offset into a ring; the unit's thread in the card runs it, writes the packet's state and counts a
// completion. Both sides spin briefly, then sleep on a futex. Device memory and packets are two
// more shared areas; see CardAreas. Threads: producers of one ring are serialised by the
// application; the consumer is the unit's thread. Whoever moves a ring entry out of kQueued or
// kRunning by compare-and-swap decides the packet's final state.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulation/protocol/mailbox.h"

namespace tandem::emulation {

constexpr uint32_t kProtocolVersion = 1;
constexpr uint32_t kMaxUnits = 128;
constexpr uint32_t kRingEntries = 1024;  // power of two
constexpr uint64_t kPacketAreaBytes = uint64_t{64} << 20;
constexpr uint32_t kRegisterWords = 1024;  // register map of a unit that programs may touch

enum class EntryState : uint32_t { kFree, kQueued, kRunning, kDone, kCancelled };

struct RingEntry {
  std::atomic<EntryState> state{EntryState::kFree};
  uint32_t packet_bytes = 0;
  uint64_t packet_offset = 0;  // into the packet area
};

struct UnitStatistics {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> busy_ns{0};
};

struct UnitChannel {
  alignas(64) std::atomic<uint32_t> submitted{0};  // futex word of the unit's thread
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> asleep{0};
  UnitStatistics statistics;
  std::atomic<uint32_t> first_argument{0};  // byte offset in the register map
  // Calls of the kernel; a command that repeats makes several.
  std::atomic<uint32_t> calls_begun{0};
  std::atomic<uint32_t> calls_finished{0};
  std::atomic<uint32_t> calls_awaited{0};  // those begun when the program asked for outputs
  Mailbox mailbox;
  // The unit's register map as programs see it: bit 0 of word 0 starts, bits 1 to 3 are done, idle,
  // ready.
  alignas(64) std::atomic<uint32_t> registers[kRegisterWords];
  alignas(64) RingEntry ring[kRingEntries];
};

enum class CardState : uint32_t { kRunning, kFailed };

// What brought the card down, written by its signal handler.
struct Fault {
  std::atomic<int32_t> signal{0};
  std::atomic<int32_t> unit{-1};
  std::atomic<uint32_t> is_memory_access{0};
  std::atomic<uint32_t> is_null{0};         // near address 0 of the process
  std::atomic<uint64_t> device_address{0};  // as the kernel's pointers map to the card's memory
};

struct SharedState {
  uint32_t version = kProtocolVersion;
  alignas(64) std::atomic<uint32_t> completions{0};  // futex word of the application's waiters
  alignas(64) std::atomic<uint32_t> waiters{0};
  std::atomic<CardState> state{CardState::kRunning};
  std::atomic<uint64_t> bytes_to_device{0};
  std::atomic<uint64_t> bytes_from_device{0};
  Fault fault;
  UnitChannel units[kMaxUnits];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "shared memory needs lock-free atomics");

}  // namespace tandem::emulation
