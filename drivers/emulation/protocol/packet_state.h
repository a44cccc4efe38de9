// SPDX-License-Identifier: Apache-2.0
//
// The state field of a command packet's header and the bits of a unit's control register.
#pragma once

#include <ert.h>

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

// Bits of the control register at offset 0 of a unit (HLS block protocol).
constexpr uint32_t kRegisterStart = 1;
constexpr uint32_t kRegisterDone = 2;
constexpr uint32_t kRegisterIdle = 4;
constexpr uint32_t kRegisterReady = 8;
constexpr uint32_t kRegisterAutoRestart = 0x80;

// Control words of a unit, by byte offset.
constexpr uint32_t kGlobalInterruptOffset = 0x4;
constexpr uint32_t kInterruptEnableOffset = 0x8;
constexpr uint32_t kInterruptStatusOffset = 0xc;

// For a unit with its first argument at kMailboxArgumentOffset: the remaining number of runs, and
// the control words of its mailbox, at the offsets that XRT 2.13 expects.
constexpr uint32_t kCounterOffset = 0x10;
constexpr uint32_t kMailboxInputOffset = 0x14;
constexpr uint32_t kMailboxOutputOffset = 0x18;
constexpr uint32_t kMailboxArgumentOffset = 0x20;
constexpr uint32_t kMailboxReleased = 1;  // by the program, to the kernel

// Replaces bits 0 to 3 of the packet header with `state`. A reader of the state sees all earlier
// writes.
inline void set_packet_state(uint32_t* header, uint32_t state) {
  std::atomic_ref<uint32_t> word(*header);
  word.store((word.load(std::memory_order_relaxed) & ~0xFu) | state, std::memory_order_release);
}

// Sets a packet to RUNNING. Returns false if it has already ended, which can happen after the
// caller claimed the ring entry.
inline bool set_packet_running(uint32_t* header) {
  std::atomic_ref<uint32_t> word(*header);
  uint32_t before = word.load(std::memory_order_relaxed);
  do {
    const uint32_t state = before & 0xFu;
    if (state >= ERT_CMD_STATE_COMPLETED && state != ERT_CMD_STATE_SUBMITTED) return false;
  } while (!word.compare_exchange_weak(before, (before & ~0xFu) | ERT_CMD_STATE_RUNNING,
                                       std::memory_order_release, std::memory_order_relaxed));
  return true;
}

}  // namespace tandem::emulation
