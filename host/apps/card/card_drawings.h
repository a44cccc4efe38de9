// SPDX-License-Identifier: Apache-2.0
//
// What can be looked at of modelled runs: a timeline for ui.perfetto.dev and an SVG roofline.
//
// Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/card/card_schedule.h"

namespace tandem::apps {

// Trace events: a group of rows per unit (its runs, processes and ports), one per bank, and one for
// the link between host and card. Times are modelled microseconds.
nlohmann::ordered_json card_timeline(const std::vector<ScheduledItem>& items);

// Operations per byte and per second of each kernel's longest run, below the bandwidth of the banks
// that it uses and what its loops would compute at an II of 1. Empty if no run moves bytes.
std::string card_roofline(const std::vector<ScheduledItem>& items);

}  // namespace tandem::apps
