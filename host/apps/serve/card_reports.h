// SPDX-License-Identifier: Apache-2.0
//
// What emulated cards have found in kernels: the file that TANDEM_CARD_REPORT names
// (drivers/emulation).
//
// Threads: any. Errors: none; what cannot be read is not there.
#pragma once

#include <string>

namespace tandem::apps {

// {"file": its path or null, "reports": [the newest 100 of its lines, as objects]}.
std::string card_reports_json();

}  // namespace tandem::apps
