// SPDX-License-Identifier: Apache-2.0
//
// Writes a counter into every block of a kernel's IR, and a call before every access that may go to
// device memory.
//
// The result has three global names that the card looks for: tandem_time_model_<stem> (JSON),
// tandem_time_counts_<stem> (a word per counter) and tandem_time_sites_<stem> (a SiteRecord per
// site). tandem_time_access() is the card's. Pure. Errors: none.
#pragma once

#include <string>

#include "bitstreams/compiler/timing/analysis.h"

namespace tandem::timing {

constexpr int kSiteWords = 8;  // of a SiteRecord

std::string instrument(const IrModule& module, const Analysis& analysis, const std::string& stem);

}  // namespace tandem::timing
