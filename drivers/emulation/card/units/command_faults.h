// SPDX-License-Identifier: Apache-2.0
//
// CommandFaults: the waits of a unit that a fault script causes: a card that hangs, or a command
// that ends late or never.
//
// A wait ends when `given_up` returns true: the command was aborted, exceeds the card's deadline,
// or the unit stops. Threads: the unit's.
#pragma once

#include <functional>

#include "emulation/protocol/command_fault.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

class CommandFaults {
 public:
  CommandFaults(const SharedState& state, CommandFault fault, std::function<bool()> given_up)
      : state_(state), fault_(fault), given_up_(std::move(given_up)) {}

  // Waits before the kernel runs. False: the kernel must not run.
  bool before_kernel() const;
  // Waits after the kernel has run. False: the command was given up meanwhile.
  bool after_kernel() const;

 private:
  bool wait_while(const std::function<bool()>& condition) const;

  const SharedState& state_;
  const CommandFault fault_;
  const std::function<bool()> given_up_;
};

}  // namespace tandem::emulation
