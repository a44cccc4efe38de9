// SPDX-License-Identifier: Apache-2.0
//
// instrument(): inserts a counter into every block of a kernel's IR, and a call before every access
// that may go to device memory, and of a stream.
//
// The result has three global names that the card looks up: tandem_time_model_<stem> (JSON),
// tandem_time_counts_<stem> (one word per counter) and tandem_time_sites_<stem> (one SiteRecord per
// site). The card provides tandem_time_access() and
// tandem_time_stream(). Pure. Errors: none.
#pragma once

#include <string>

#include "bitstreams/compiler/timing/analysis.h"

namespace tandem::timing {

constexpr int kSiteWords = 8;  // words of a SiteRecord

std::string instrument(const IrModule& module, const Analysis& analysis, const std::string& stem);

}  // namespace tandem::timing
