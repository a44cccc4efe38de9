// SPDX-License-Identifier: Apache-2.0
//
// Findings about the program: messages, lines of TANDEM_CARD_REPORT, and with TANDEM_CHECKS=strict
// the program's exit status.
//
// The file and line are those of the call in the program, where it has debug information. Threads:
// any.
#pragma once

#include <cstdint>
#include <string>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

struct HostFinding {
  std::string kind;
  std::string kernel;
  std::string unit;
  std::string argument;
  std::string message;
  bool is_warning = false;  // it may pass here and not on hardware, or harm nothing
  // The device address of the buffer that it is about; ~0: none.
  uint64_t address = ~uint64_t{0};
};

// Reports it once per place and message. `place`: caller_place(), or where something happened.
void report_host_finding(Card& card, const MemoryStates& states, const HostFinding& finding,
                         const CodePlace& place);
// The first card with strict checks: a program that ends well although findings were reported ends
// with status 3.
void watch_exit(Card& card);

}  // namespace tandem::emulation
