// SPDX-License-Identifier: Apache-2.0
//
// Waits of a unit that an application's script of faults demands: a card that hangs, a command that
// ends late or never.
//
// A wait ends when `given_up` says so: the command was aborted, is too late for the card's
// deadline, or the unit stops. Threads: that of the unit.
#pragma once

#include <functional>

#include "emulation/protocol/command_fault.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

class CommandFaults {
 public:
  CommandFaults(const SharedState& state, CommandFault fault, std::function<bool()> given_up)
      : state_(state), fault_(fault), given_up_(std::move(given_up)) {}

  // Before the kernel runs; false when it must not run any more.
  bool before_kernel() const;
  // After it has run; false when it was given up meanwhile.
  bool after_kernel() const;

 private:
  bool wait_while(const std::function<bool()>& condition) const;

  const SharedState& state_;
  const CommandFault fault_;
  const std::function<bool()> given_up_;
};

}  // namespace tandem::emulation
