// SPDX-License-Identifier: Apache-2.0
//
// Which bugs a card looks for. The card decides and tells its clients in SharedState::checks.
//
// TANDEM_CHECKS names checks, with commas. With a report (TANDEM_CARD_REPORT) memory, race and sync
// are on as well; `none` first takes these away. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

enum Check : uint32_t {
  kCheckDepths = 1,  // see hls_runtime::UnitSettings
  kCheckMemory = 2,  // loads, stores, indices and divisions of kernels
  kCheckRace = 4,    // kernels that run at once and write the same bytes
  kCheckSync = 8,    // syncs that a program forgets
  kCheckStrict = 16  // every finding fails its command and the program
};

// The bits of TANDEM_CHECKS. Throws std::runtime_error for an unknown name.
uint32_t parse_checks(const std::string& text, bool has_report);

}  // namespace tandem::emulation
