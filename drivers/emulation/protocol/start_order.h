// SPDX-License-Identifier: Apache-2.0
//
// StartOrder: which calls of a card's units were over, as the program knew, when it started a
// command. OrderTable: the orders of a client's last commands, in memory that it shares with its
// card.
//
// The calls of a unit's kernel are counted as long as the card lives; a unit makes them one after
// the other. So one number per unit tells which of its calls are over. Threads: one at a time
// writes; the card reads meanwhile. An order that was overwritten before the card read it is not
// known.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

// Marks of accesses and names of calls have these bits of the number.
constexpr uint32_t kCallMask = (1 << 20) - 1;

struct StartOrder {
  bool is_known = false;           // if not, only what runs at the same time is without an order
  bool may_move = false;           // another unit could have got the command
  uint32_t num_units = kMaxUnits;  // those behind have no calls
  std::array<uint32_t, kMaxUnits> over{};  // by unit: its newest call that was over
};

class OrderTable {
 public:
  // The ticket by which the card finds it; never 0.
  uint64_t put(const StartOrder& order) {
    const uint64_t ticket = ++tickets_;
    Slot& slot = slots_[ticket % kNumSlots];
    slot.ticket.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    slot.may_move.store(order.may_move, std::memory_order_relaxed);
    slot.num_units.store(order.num_units, std::memory_order_relaxed);
    for (uint32_t unit = 0; unit < order.num_units; ++unit) {
      slot.over[unit].store(order.over[unit], std::memory_order_relaxed);
    }
    slot.ticket.store(ticket, std::memory_order_release);
    return ticket;
  }
  StartOrder get(uint64_t ticket) const {
    StartOrder order;
    const Slot& slot = slots_[ticket % kNumSlots];
    if (ticket == 0 || slot.ticket.load(std::memory_order_acquire) != ticket) return order;
    order.may_move = slot.may_move.load(std::memory_order_relaxed);
    order.num_units = std::min(slot.num_units.load(std::memory_order_relaxed), kMaxUnits);
    for (uint32_t unit = 0; unit < order.num_units; ++unit) {
      order.over[unit] = slot.over[unit].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    order.is_known = slot.ticket.load(std::memory_order_relaxed) == ticket;
    return order;
  }
  static constexpr uint64_t kNumSlots = 2048;

 private:
  struct Slot {
    std::atomic<uint64_t> ticket{0};
    std::atomic<bool> may_move{false};
    std::atomic<uint32_t> num_units{0};
    std::atomic<uint32_t> over[kMaxUnits] = {};
  };
  uint64_t tickets_ = 0;  // the client's
  Slot slots_[kNumSlots];
};

}  // namespace tandem::emulation
