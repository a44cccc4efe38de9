// SPDX-License-Identifier: Apache-2.0
//
// The state field of a command packet's header and the bits of a unit's control register.
#pragma once

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

// Bits of the control register at offset 0 of a unit (HLS block protocol).
constexpr uint32_t kRegisterStart = 1;
constexpr uint32_t kRegisterDone = 2;
constexpr uint32_t kRegisterIdle = 4;
constexpr uint32_t kRegisterReady = 8;

// Replaces bits 0 to 3 of the packet header with `state`; everything written before is visible to
// who reads it.
inline void set_packet_state(uint32_t* header, uint32_t state) {
  std::atomic_ref<uint32_t> word(*header);
  word.store((word.load(std::memory_order_relaxed) & ~0xFu) | state, std::memory_order_release);
}

}  // namespace tandem::emulation
