// SPDX-License-Identifier: Apache-2.0
//
// The kinds of bugs that a card checks. The card decides, and tells its clients in
// SharedState::checks.
//
// TANDEM_CHECKS lists checks, separated by commas. With a report (TANDEM_CARD_REPORT) the checks
// memory, race and sync are also on, and depths for the first values of each stream; `none` as the
// first word turns them off. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

enum Check : uint32_t {
  kCheckDepths = 1,       // see hls_runtime::UnitSettings
  kCheckMemory = 2,       // loads, stores, indices and divisions of kernels
  kCheckRace = 4,         // runs without an order that write the same bytes
  kCheckSync = 8,         // missing syncs of a program
  kCheckStrict = 16,      // every finding makes its command and the program fail
  kCheckFirstDepths = 32  // depths, for the first values of each stream
};

// The bits of TANDEM_CHECKS. Throws std::runtime_error for an unknown name.
uint32_t parse_checks(const std::string& text, bool has_report);

}  // namespace tandem::emulation
