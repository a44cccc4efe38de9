// SPDX-License-Identifier: Apache-2.0
//
// SharedState: the memory that a card shares with all its clients: a bell, registers and statistics
// per compute unit, and the cause of a crash.
//
// Commands are in the clients' own areas (client_area.h), one ring per client and unit. So launches
// of different processes share no lock, and a client that dies leaves no lock held; the lock of a
// unit's mailbox is taken over from a dead holder (mailbox.h). To launch: write the entry, advance
// the ring, set the client's bit in `pending`, increment `submitted` (the futex word of the unit's
// thread). The load of a unit is `submitted` - `finished`, which is exact while no client dies.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulation/protocol/mailbox.h"

namespace tandem::emulation {

constexpr uint32_t kProtocolVersion = 8;
constexpr uint32_t kMaxUnits = 128;
constexpr uint32_t kMaxClients = 256;  // multiple of 64
constexpr uint32_t kMostRaced = 64;
constexpr uint32_t kRegisterWords = 1024;  // register map of a unit that programs may touch

struct UnitStatistics {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> busy_ns{0};
  std::atomic<uint64_t> processor_ns{0};  // of that, what the unit's thread computed
};

struct UnitChannel {
  // Futex word of the unit's thread. Also incremented when a running command was aborted.
  alignas(64) std::atomic<uint32_t> submitted{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> asleep{0};
  // a bit per client: set if the client has commands for this unit
  std::atomic<uint64_t> pending[kMaxClients / 64] = {};
  UnitStatistics statistics;
  std::atomic<uint32_t> first_argument{0};  // byte offset in the register map
  // Calls of the kernel; a command with repetitions makes several.
  std::atomic<uint32_t> calls_begun{0};
  std::atomic<uint32_t> calls_finished{0};
  std::atomic<uint32_t> calls_awaited{
      0};                               // value of calls_begun when the program requested outputs
  std::atomic<uint32_t> interrupts{0};  // number raised so far
  // With race checks, calls as start_order.h counts them: the last one that began, the last one
  // that ended, and some that a race names (at their number modulo kMostRaced).
  std::atomic<uint32_t> last_call{0};
  std::atomic<uint32_t> ended_call{0};
  std::atomic<uint32_t> raced[kMostRaced] = {};
  Mailbox mailbox;
  // The unit's register map as programs see it: bit 0 of word 0 starts, bits 1 to 3 are done, idle,
  // ready.
  alignas(64) std::atomic<uint32_t> registers[kRegisterWords];
};

// The cause of a crash, written by the card's signal handler.
struct Fault {
  std::atomic<int32_t> signal{0};
  std::atomic<int32_t> unit{-1};
  std::atomic<uint32_t> is_memory_access{0};
  std::atomic<uint32_t> is_null{0};         // near address 0 of the process
  std::atomic<uint64_t> device_address{0};  // address in the kernel's pointer
};

struct SharedState {
  uint32_t version = kProtocolVersion;
  // counts loads; commands with an older generation are refused
  std::atomic<uint32_t> generation{0};
  std::atomic<uint64_t> free_bytes{0};     // device memory, as far as the card allocates it
  std::atomic<uint64_t> used_by_owner{0};  // bytes that the application of a private card uses
  std::atomic<uint64_t> bytes_to_device{0};
  std::atomic<uint64_t> bytes_from_device{0};
  std::atomic<uint32_t> checks{0};    // bits of Check, see checks.h
  std::atomic<uint64_t> findings{0};  // number of findings that the card and its clients reported
  Fault fault;
  std::atomic<uint32_t> hung{0};  // not 0: no command begins or ends, see faults/FAULTS.md
  UnitChannel units[kMaxUnits];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "shared memory needs lock-free atomics");

}  // namespace tandem::emulation
