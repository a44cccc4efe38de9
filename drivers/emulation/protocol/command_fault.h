// SPDX-License-Identifier: Apache-2.0
//
// The fault that one command must have, by the application's fault script (faults/FAULTS.md). The
// application writes it beside the command, and the card's unit performs it. Plain data.
#pragma once

#include <cstdint>

namespace tandem::emulation {

enum class CommandFaultKind : uint32_t {
  kNone,
  kLate,         // ends late_us after the kernel has ended
  kTwice,        // its end is announced twice
  kNever,        // the kernel does not run, and the command stays active until it is aborted
  kUnannounced,  // the kernel runs, and the command stays active until it is aborted
  kNoInterrupt,  // as usual, but the unit raises no interrupt
  kError         // the kernel does not run, and the command ends with an error
};

struct CommandFault {
  CommandFaultKind kind = CommandFaultKind::kNone;
  uint64_t late_us = 0;
  bool is(CommandFaultKind other) const { return kind == other; }
};

}  // namespace tandem::emulation
