// SPDX-License-Identifier: Apache-2.0
//
// The events of cards at which the fault script may cause a fault, and the effects.
//
// Without a script each call costs one load. Messages give the line of the script. Threads: any;
// the caller holds no lock of the card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulation/faults/fault_script.h"
#include "emulation/protocol/command_fault.h"

namespace tandem::emulation {

class Card;

// Throws std::runtime_error if a fault prevents the opening of card `index`.
void at_open(uint32_t index);
// A card was opened: lasting faults apply to it too.
void at_opened(Card& card);
// Returns an errno value, or 0.
int at_load(Card& card);
// Returns why the card has no memory for `size_bytes`; empty: it has.
std::string at_allocate(Card& card, uint64_t size_bytes);

struct LaunchFaults {
  int error = 0;  // errno value: the command is not accepted
  CommandFault command;
};
// `by_registers`: the launch uses the control register instead of an XRT command.
LaunchFaults at_launch(Card& card, uint32_t unit, bool by_registers);

// A copy between the host and device memory.
struct Transfer {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t size_bytes = 0;
  uint64_t address = 0;  // in device memory
  LinkDirection direction = LinkDirection::kToDevice;
};
// Copies the bytes. Returns 0, or an errno value if the link fails.
int transfer(Card& card, const Transfer& copy);

// For the injector: performs a rule of kind `after` now.
void apply_timed_fault(const FaultRule& rule);
bool any_card_open();
// Informs the card, if it is open.
void show_hung(uint32_t card, bool hung);

}  // namespace tandem::emulation
