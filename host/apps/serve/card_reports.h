// SPDX-License-Identifier: Apache-2.0
//
// Reads the findings of emulated cards in kernels from the file of TANDEM_CARD_REPORT
// (drivers/emulation).
//
// Threads: any. Errors: none; unreadable parts are skipped.
#pragma once

#include <string>

namespace tandem::apps {

// {"file": the path or null, "reports": [the newest 100 lines, as objects]}.
std::string card_reports_json();

}  // namespace tandem::apps
