// SPDX-License-Identifier: Apache-2.0
//
// The events at which a card may fail by the script of faults, and what happens then.
//
// Without a script each costs one load. Messages name the script's line. Threads: any; the caller
// holds no lock of the card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulation/faults/fault_script.h"
#include "emulation/protocol/command_fault.h"

namespace tandem::emulation {

class Card;

// Throws std::runtime_error where the card `index` cannot be opened.
void at_open(uint32_t index);
// A new card: what lasts holds for it too.
void at_opened(Card& card);
// An errno value, or 0.
int at_load(Card& card);
// Why the card has no memory for `size_bytes`; empty: it has.
std::string at_allocate(Card& card, uint64_t size_bytes);

struct LaunchFaults {
  int error = 0;  // errno value: the command is not accepted
  CommandFault command;
};
// `by_registers`: by the control register, not by a command of XRT.
LaunchFaults at_launch(Card& card, uint32_t unit, bool by_registers);

// A copy between the host and device memory.
struct Transfer {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t size_bytes = 0;
  uint64_t address = 0;  // in device memory
  LinkDirection direction = LinkDirection::kToDevice;
};
// Copies. Returns 0, or an errno value when the link fails.
int transfer(Card& card, const Transfer& copy);

// For the injector. A rule of `after`, now.
void apply_timed_fault(const FaultRule& rule);
bool any_card_open();
// Tells the card, if it is open.
void tell_hung(uint32_t card, bool hung);

}  // namespace tandem::emulation
