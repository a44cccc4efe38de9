// SPDX-License-Identifier: Apache-2.0
//
// Reports findings about the program: messages, lines of TANDEM_CARD_REPORT, and with
// TANDEM_CHECKS=strict the exit status of the program.
//
// File and line are those of the call in the program, if it has debug information. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

struct HostFinding {
  std::string kind;
  std::string kernel;
  std::string unit;
  std::string argument;
  std::string message;
  bool is_warning = false;  // it may be harmless, or pass here but fail on hardware
  // The device address of the buffer that it is about; ~0: none.
  uint64_t address = ~uint64_t{0};
  std::vector<std::pair<std::string, std::string>> more = {};  // see Finding
};

// Reports a finding once per place and message. `place`: caller_place(), or where it happened.
void report_host_finding(Card& card, const MemoryStates& states, const HostFinding& finding,
                         const CodePlace& place);
// Call it for the first card with strict checks: if findings were reported, a program that ends
// successfully ends with status 3 instead.
void watch_exit(Card& card);

}  // namespace tandem::emulation
