// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong with one command, as an application's script of faults says (faults/FAULTS.md).
// The application writes it beside the command, and the card's unit does it. Plain data.
#pragma once

#include <cstdint>

namespace tandem::emulation {

enum class CommandFaultKind : uint32_t {
  kNone,
  kLate,         // ends late_us after the kernel has
  kTwice,        // its end is announced twice
  kNever,        // the kernel does not run, and the command goes on until it is aborted
  kUnannounced,  // the kernel runs, and the command goes on until it is aborted
  kNoInterrupt,  // as usual, but without the unit's interrupt
  kError         // the kernel does not run, and the command ends with an error
};

struct CommandFault {
  CommandFaultKind kind = CommandFaultKind::kNone;
  uint64_t late_us = 0;
  bool is(CommandFaultKind other) const { return kind == other; }
};

}  // namespace tandem::emulation
